// The emulated storage: asked at t for some reads, it says when they are done. Never sleeps, knows
// no threads; both engines use this one formula.
//
// Service of one ask of n reads and b bytes at time t, first in first out:
//   a queue-depth slot is held for the summed latency;
//   then one bandwidth clock (b / bandwidth) and one IOPS clock (n / iops) run side by side;
//   done when both are.
// Throughput of W askers that each read one sample after another:
//   min(bandwidth, IOPS × size, W × size / (latency + size / bandwidth)).
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

struct StorageAsk {
  base::Instant at;
  std::int64_t reads = 1;
  base::Bytes bytes;
  base::Duration latency{};  ///< summed over the reads (drawn by the caller, keyed), open cost included
};

/// Totals since construction.
struct StorageUse {
  std::int64_t reads = 0;
  base::Bytes bytes;
  base::Duration bandwidth_busy{};  ///< time the bandwidth clock was serving
  base::Duration iops_busy{};
};

/// Not thread-safe: the threaded engine holds one lock around it.
class StorageModel {
 public:
  explicit StorageModel(const spec::Storage& storage);
  /// When the ask is done. Asks are served in call order; one that is earlier than the last is served
  /// as if it came with it.
  base::Instant Ask(const StorageAsk& ask);
  const StorageUse& use() const { return use_; }

 private:
  std::optional<base::BytesPerSecond> bandwidth_;
  std::optional<double> iops_per_s_;
  std::vector<base::Instant> slots_;  ///< min-heap of when each queue slot is free; empty: unlimited
  base::Instant last_ask_{base::Duration::min()};
  base::Instant bandwidth_free_{base::Duration::min()};
  base::Instant iops_free_{base::Duration::min()};
  StorageUse use_;
};

}  // namespace pipesim::cost
