// The emulated storage: asked at t for some reads, it says when they are done. Never sleeps, knows
// no threads; both engines use this one formula.
//
// Service of one ask of n reads and b bytes at time t, first in first out:
//   a bandwidth clock serves the bytes (b / bandwidth) while an IOPS clock paces the starts of
//   reads: one every 1 / iops, so that it limits many askers and costs a slow one nothing; when the
//   bytes are served, a queue-depth slot is held for the summed latency; done when that is over,
//   and the last read, started at its pace, has had its own latency.
// The clocks come first because asks reach them in the order of their time: with drawn latencies in
// front of them, a long one would keep the clocks idle for all that were asked later, and every ask
// would wait for the slowest before it. What comes first in a cycle does not change its rate.
// Throughput of W askers that each read one sample after another:
//   min(bandwidth, IOPS × size, queue depth × size / latency,
//       W × size / (latency + size / bandwidth)).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

struct StorageAsk {
  base::Instant at;
  std::int64_t reads = 1;
  base::Bytes bytes;
  base::Duration
      latency{};  ///< summed over the reads (drawn by the caller, keyed), open cost included
};

/// Totals since construction.
struct StorageUse {
  std::int64_t reads = 0;
  base::Bytes bytes;
  base::Duration bandwidth_busy{};  ///< time the bandwidth clock was serving
  base::Duration iops_busy{};
};

/// One server, first in first out. Fractions of a nanosecond are carried over, so that many small
/// services add up to the stated rate.
class ServiceClock {
 public:
  explicit ServiceClock(double per_s) : ns_each_(1e9 / per_s) {}
  /// When `amount` asked for at `at` is served. `at` never goes back.
  base::Instant Serve(base::Instant at, std::int64_t amount);
  /// When the last of `amount` services begins, had they come one after another.
  base::Instant LastStart(base::Instant at, std::int64_t amount);
  base::Duration busy() const { return busy_; }

 private:
  double ns_each_;
  double carried_ns_ = 0;
  base::Instant free_{base::Duration::min()};
  base::Duration busy_{};
};

/// Not thread-safe: the threaded engine holds one lock around it.
class StorageModel {
 public:
  explicit StorageModel(const spec::Storage& storage);
  /// When the ask is done. Asks are served in call order; one that is earlier than the last is
  /// served as if it came with it.
  base::Instant Ask(const StorageAsk& ask);
  const StorageUse& use() const { return use_; }

 private:
  std::optional<ServiceClock> bandwidth_, iops_;
  std::vector<base::Instant>
      slots_;  ///< min-heap of when each queue slot is free; empty: unlimited
  base::Instant last_ask_{base::Duration::min()};
  StorageUse use_;
};

}  // namespace pipesim::cost
