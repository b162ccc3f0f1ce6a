// Rules that depend only on the experiment's settings and hold in every engine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cost/buffers.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// Capacity in batches of the workers' queue, and of the pin thread's; 0 with 0 workers.
inline std::int64_t QueueCapacity(const spec::Loader& loader) {
  if (loader.workers == 0) return 0;
  return std::max<std::int64_t>(loader.queue_capacity.value_or(loader.Window()), 1);
}

/// Largest number of batches made and not yet taken. In order, the reorder buffer takes the
/// overflow of the queue. A pin thread (`pins`) holds one batch and fills a second queue.
inline std::int64_t MaxOccupancy(const spec::Loader& loader, bool pins) {
  if (loader.in_order) return loader.Window();
  const std::int64_t capacity = QueueCapacity(loader);
  return std::min(loader.Window(), pins ? 2 * capacity + 1 : capacity);
}

using cost::MostInFlight;

/// Whether the host reads back the result of step `step` (from 0).
inline bool ReadsBack(const spec::Training& training, std::int64_t step) {
  return training.sync_every > 0 && (step + 1) % training.sync_every == 0;
}

}  // namespace pipesim::engine
