#include "base/error.h"
#include "engine/torch/bench_loops.h"
#include "engine/torch/cuda.h"

namespace pipesim::engine {
namespace {

constexpr const char* kNoCuda =
    "this LibTorch has no CUDA part; use device: cpu, or build with a LibTorch for CUDA";

}  // namespace

std::vector<TorchDevice> CudaDevices() { return {}; }

std::unique_ptr<Trainer> MakeCudaTrainer(const spec::Experiment&, const base::Clock&, int) {
  throw base::EnvironmentError(kNoCuda);
}

std::unique_ptr<BatchMemory> MakePinnedMemory() { throw base::EnvironmentError(kNoCuda); }

void UseBenchDevice(spec::DeviceId device) {
  if (device.IsCuda()) throw base::EnvironmentError(kNoCuda);
}

void WaitForBenchDevice(spec::DeviceId) {}

std::unique_ptr<BenchLoop> MakeCudaCopyLoop(const BenchRequest&) {
  throw base::EnvironmentError(kNoCuda);
}

std::unique_ptr<BenchLoop> MakePairLoop(const BenchRequest&) {
  throw base::EnvironmentError(kNoCuda);
}

}  // namespace pipesim::engine
