// What this library knows of CUDA. One of two sets of files stands behind it: with LibTorch's CUDA
// part (cuda_*.cc), or without (no_cuda.cc).
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/batch_memory.h"
#include "engine/torch/plugin.h"
#include "engine/trainer.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// Empty where there is no GPU, no driver, or no CUDA in this LibTorch.
std::vector<TorchDevice> CudaDevices();

/// Throws EnvironmentError when there is no device `experiment.device.cuda_index`.
std::unique_ptr<Trainer> MakeCudaTrainer(const spec::Experiment& experiment,
                                         const base::Clock& clock, int compute_threads);

/// Page-locked for every GPU. Throws EnvironmentError where there is none.
std::unique_ptr<BatchMemory> MakePinnedMemory();

}  // namespace pipesim::engine
