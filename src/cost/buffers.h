// How many batches and samples a run keeps in memory at once, by its settings alone. The engines
// allocate so much, and the memory plan adds it up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spec/experiment.h"

namespace pipesim::cost {

/// Batches pass through page-locked memory: it was asked for, and the CPU does not train on them
/// where they are. Of an experiment whose device is chosen.
bool PinsBatches(const spec::Experiment& experiment);

/// Steps that may be submitted and not done, the one about to be submitted included.
std::size_t MostInFlight(const spec::Device& device);

struct SlotCounts {
  /// What workers may hold or have finished, the window; without a pin stage also what is being
  /// taken and what the trainer has.
  std::int64_t workers = 0;
  /// Behind the pin stage: the window, what is being taken, what the trainer has. 0 without one.
  std::int64_t pinned = 0;
};
/// Batches that a run may hold at once.
SlotCounts CountSlots(const spec::Experiment& experiment, bool pin_stage);

/// Generated samples that collate copies from: as many whole ones as fit 16 MiB, which is larger
/// than a core's caches, so that copies come from memory as they would in a loader, and small
/// beside any batch queue. At least one.
std::int64_t GeneratedSamples(const spec::Experiment& experiment);
base::Bytes GeneratedBytes(const spec::Experiment& experiment);

}  // namespace pipesim::cost
