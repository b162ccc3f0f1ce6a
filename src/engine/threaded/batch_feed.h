// Gives the consumer its next batch: from the workers' queue, or made by the consumer itself at 0
// workers.
#pragma once

#include <memory>
#include <optional>

#include "engine/threaded/run_state.h"
#include "engine/threaded/thread_timer.h"

namespace pipesim::engine::threaded {

/// Used by the consumer thread alone.
class BatchFeed {
 public:
  struct Taken {
    int slot = 0;
    std::int64_t occupancy = 0;  ///< batches ready when the consumer turned to take one
    base::Duration starved{};    ///< until the batch was in hand; 0 when it was there
  };

  virtual ~BatchFeed() = default;
  /// Call when every batch of the previous epoch has been taken.
  virtual void BeginEpoch(std::int64_t epoch) = 0;
  /// nullopt: the epoch has no more batches, or the run is ending.
  virtual std::optional<Taken> Next() = 0;
};

/// `timer` and `sink` are the consumer's and outlive the feed.
std::unique_ptr<BatchFeed> MakeBatchFeed(RunState& run, ThreadTimer& timer, trace::SpanSink& sink);

}  // namespace pipesim::engine::threaded
