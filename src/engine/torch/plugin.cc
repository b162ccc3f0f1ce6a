#include "engine/torch/plugin.h"

#include <torch/torch.h>

#include "engine/torch/bench_loops.h"
#include "engine/torch/cpu_trainer.h"
#include "engine/torch/cuda.h"
#include "engine/torch/warnings.h"

namespace pipesim::engine {
namespace {

std::unique_ptr<Trainer> MakeTrainer(const spec::Experiment& experiment, const base::Clock& clock,
                                     int compute_threads) {
  if (experiment.device.kind == spec::DeviceKind::kCuda)
    return MakeCudaTrainer(experiment, clock, compute_threads);
  return MakeCpuTrainer(experiment, clock, compute_threads);
}

}  // namespace
}  // namespace pipesim::engine

extern "C" __attribute__((visibility("default"))) const pipesim::engine::TorchPlugin*
PipesimTorchPlugin() {
  using namespace pipesim::engine;
  static const TorchPlugin plugin = {.version = kTorchPluginVersion,
                                     .libtorch_version = TORCH_VERSION,
                                     .devices = CudaDevices,
                                     .make_trainer = MakeTrainer,
                                     .make_pinned_memory = MakePinnedMemory,
                                     .make_bench_loop = MakeBenchLoop,
                                     .stage_marks = NvtxMarks,
                                     .take_warnings = TakeWarnings};
  return &plugin;
}
