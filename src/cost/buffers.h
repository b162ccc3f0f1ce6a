// How many batches and samples a run keeps in memory at once, by its settings alone. The engines
// allocate these slots, and the memory plan adds them up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spec/experiment.h"

namespace pipesim::cost {

/// Whether a pin stage copies batches into page-locked memory: it was requested, workers do not
/// collate into such memory, and the CPU does not train on batches in place.
bool PinsBatches(const spec::Loader& loader, bool trains_on_cpu);
/// Whether copies to a device leave page-locked memory: behind a pin stage or collated into it.
bool CopiesFromPinned(const spec::Loader& loader);
/// The experiment's device must be chosen.
bool PinsBatches(const spec::Experiment& experiment);

/// The most steps in flight, including the one about to be submitted.
std::size_t MostInFlight(const spec::Device& device);

struct SlotCounts {
  /// Batches that workers hold or have finished (the window); without a pin stage also the batch
  /// being taken and the trainer's.
  std::int64_t workers = 0;
  /// Batches behind the pin stage: the window, the one being taken, the trainer's. 0 without a pin
  /// stage.
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
