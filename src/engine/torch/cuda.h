// The CUDA functions of this library, implemented in cuda_*.cc if LibTorch has CUDA, else in
// no_cuda.cc; NVTX in nvtx.cc or no_nvtx.cc.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/batch_memory.h"
#include "engine/torch/plugin.h"
#include "engine/trainer.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// Empty without a GPU, a driver, or CUDA in this LibTorch.
std::vector<TorchDevice> CudaDevices();

/// Throws EnvironmentError when device `experiment.device.cuda_index` does not exist.
std::unique_ptr<Trainer> MakeCudaTrainer(const spec::Experiment& experiment,
                                         const base::Clock& clock, int compute_threads);

/// Throws EnvironmentError where NVTX's headers were missing at the build. Needs no GPU.
const StageMarks* NvtxMarks();

/// Memory page-locked for every GPU. Throws EnvironmentError without a GPU.
std::unique_ptr<BatchMemory> MakePinnedMemory();

}  // namespace pipesim::engine
