// The memory that a training step holds on its device, part by part, at the moment of its peak. Walks
// the model as LibTorch's autograd does: which tensors the forward pass keeps, when the backward pass
// gives them back, what is allocated meanwhile. Allocates nothing.
#pragma once

#include <optional>

#include "spec/experiment.h"

namespace pipesim::cost {

/// What LibTorch's libraries take on a device beside tensors.
struct LibraryMemory {
  double blas_workspace_bytes = 0;  ///< of each thread that multiplies matrices
  /// Convolutions run on tensor cores, which take channels last: cuDNN copies its operands.
  bool copies_convolutions = false;
  bool operator==(const LibraryMemory&) const = default;
};
/// Nothing on the CPU. `compute_capability`: 9.0 of an H200; nullopt: unknown, taken as below 9.
LibraryMemory LibraryMemoryOf(bool on_cpu, std::optional<double> compute_capability);

/// Bytes at the peak, as LibTorch's allocator counts them (max_memory_allocated).
struct TrainingMemory {
  double parameters = 0;       ///< with running statistics of normalisations
  double gradients = 0;
  double optimizer_state = 0;
  double activations = 0;      ///< kept for the backward pass, and their gradients
  double workspaces = 0;
  double input_batches = 0;    ///< the device's own buffers; none where it trains on the host's
  double Total() const {
    return parameters + gradients + optimizer_state + activations + workspaces + input_batches;
  }
};

/// The peak of one step after another of full batches. `input_buffers`: input batches on the device.
/// Throws std::invalid_argument when a layer does not fit its input.
TrainingMemory PeakOfTraining(const spec::Experiment& experiment, int input_buffers,
                              const LibraryMemory& libraries);

}  // namespace pipesim::cost
