#include "cost/training_memory.h"

#include <tuple>

#include "base/last_answer.h"
#include "cost/autograd_walk.h"

namespace pipesim::cost {
namespace {

constexpr double kLabelBytes = 8;
/// Once for the thread of the forward pass, once for autograd's: cuBLAS handles are per thread
/// (ATen/cuda/CublasHandlePool.cpp).
constexpr int kBlasThreads = 2;

TrainingMemory PeakOfWalk(const spec::Experiment& experiment, int input_buffers,
                          const LibraryMemory& libraries) {
  DeviceHeap heap;
  const double batch = static_cast<double>(experiment.loader.batch_size);
  for (int i = 0; i < input_buffers; ++i) {
    heap.New(static_cast<double>(spec::PreparedBytes(experiment.dataset).count) * batch, kInputs);
    heap.New(kLabelBytes * batch, kInputs);
  }
  AutogradWalk walk(experiment, libraries.copies_convolutions, heap);
  walk.Step();
  // The workspaces of the first step stay for all later ones.
  if (walk.multiplies()) {
    for (int i = 0; i < kBlasThreads; ++i)
      if (libraries.blas_workspace_bytes > 0) heap.New(libraries.blas_workspace_bytes, kWorkspaces);
    walk.Step();
  }
  const DeviceHeap::Live& peak = heap.peak();
  return {.parameters = peak[kParameters],
          .gradients = peak[kGradients],
          .optimizer_state = peak[kState],
          .activations = peak[kActivations],
          .workspaces = peak[kWorkspaces],
          .input_batches = peak[kInputs]};
}

}  // namespace

LibraryMemory LibraryMemoryOf(bool on_cpu, std::optional<double> compute_capability) {
  if (on_cpu) return {};
  // ATen/cuda/CublasHandlePool.cpp, PyTorch 2.11: 32 MiB for Hopper and Blackwell, else
  // :4096:2:16:8, in KiB and pieces. TF32, and with it fp32 on tensor cores, came with Ampere.
  constexpr double kLarge = 32.0 * (1 << 20), kSmall = (2 * 4096 + 8 * 16) * 1024.0;
  const double capability = compute_capability.value_or(0);
  return {.blas_workspace_bytes = capability >= 9 && capability < 11 ? kLarge : kSmall,
          .copies_convolutions = capability >= 8};
}

TrainingMemory PeakOfTraining(const spec::Experiment& experiment, int input_buffers,
                              const LibraryMemory& libraries) {
  using Question = std::tuple<spec::Model, spec::Shape, spec::DType, std::int64_t, spec::Training, int,
                              LibraryMemory>;
  thread_local base::LastAnswer<Question, TrainingMemory> last;
  const spec::Dataset& dataset = experiment.dataset;
  return last.To(std::tie(experiment.model, dataset.shape, dataset.dtype, experiment.loader.batch_size,
                          experiment.training, input_buffers, libraries),
                 [&] { return PeakOfWalk(experiment, input_buffers, libraries); });
}

}  // namespace pipesim::cost
