// The storage of a pipeline: what a read costs, and the server that both engines use. The only
// place of its formula. Never sleeps, knows no threads.
//
// Service of one request of n reads and b bytes at time t, first in first out:
//   a bandwidth clock serves the bytes (b / bandwidth) while an IOPS clock paces the starts of
//   reads: one every 1 / iops, so that it limits many readers and costs a slow one nothing; once
//   the bytes are served, a queue-depth slot is held for the summed latency; the request is done
//   when the slot is released and the last read, started at its pace, has had its own latency. The
//   pace of reads that are asked for at once runs on beside the reader's work between them.
// The clocks come first because requests reach them in the order of their time: with drawn
// latencies in front, a long one would keep the clocks idle for everything requested later, and
// every request would wait for the slowest before it. The order of the stages does not change the
// rate. A storage that shares fairly has no bandwidth clock: of n reads that are being served each
// gets 1/n of the bandwidth (processor sharing), and the rest of the service follows. A read's end
// then depends on later requests, so the engine keeps that time, not the server. Throughput of W readers that each read one sample after another:
//   min(bandwidth, IOPS × size, queue depth × size / latency,
//       W × size / (latency + size / bandwidth)).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/drawn.h"
#include "base/units.h"
#include "cost/service_clock.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Rates that no number of readers exceeds; absent: no such limit.
struct StorageLimits {
  std::optional<double> bytes_per_s, reads_per_s;
  std::optional<double> parallel_reads_per_s;  ///< queue depth / latency of one read
};

/// What reads cost. Latency and open cost are drawn for each read.
struct Storage {
  bool present = false;  ///< false: samples are in memory, reading them costs nothing
  base::Drawn<base::Duration> latency, open_cost;
  std::optional<base::BytesPerSecond> bandwidth;
  bool fair = false;  ///< outstanding reads get equal parts of it at once (spec::StorageSharing)
  std::optional<double> iops_per_s;
  std::optional<int> queue_depth;
  spec::Cache cache;
  base::Duration read_cpu{};  ///< CPU time of one read: system calls, copies out of the kernel

  bool operator==(const Storage&) const = default;
  /// The engine shares the bandwidth between outstanding reads, before it asks the server.
  bool SharesBandwidth() const { return present && fair && bandwidth.has_value(); }
  bool HasCache() const { return present && cache.policy != spec::CachePolicy::kNone; }
  /// Mean time that one read holds a queue-depth slot.
  double SlotSeconds() const;
  /// A reader's own time: latencies and bytes one after another. The IOPS pace costs it nothing if it has other work.
  double OwnSeconds(double reads, double bytes) const;
  /// One reader that does nothing else: no faster than the IOPS pace.
  double AloneSeconds(double reads, double bytes) const;
  StorageLimits Limits() const;
  /// Most batches/s of `reads` reads and `bytes` bytes each, whatever the number of readers.
  double MostPerSecond(double reads, double bytes) const;
  /// CPU time of `reads` reads and of copying `hit_bytes` out of the cache.
  double CpuSeconds(double reads, double hit_bytes) const;
  /// Every service takes `factor` times as long: 0 is free and unlimited, 1/2 twice as fast. CPU
  /// time does not change.
  Storage Scaled(double factor) const;
  /// The CPU time of reading times `factor`; nothing else changes.
  Storage WithCpuScaled(double factor) const;
};

/// The experiment's emulated storage. The costs of real files come from a profile or a run.
Storage StatedStorage(const spec::Storage& storage);
/// The keys of an emulated storage that differ, with the values of `to`, so that what-ifs on a
/// Storage can be typed as flags.
std::vector<std::pair<std::string, std::string>> StatedChanges(const Storage& from,
                                                               const Storage& to);

struct ReadRequest {
  base::Instant at;
  std::int64_t reads = 1;
  base::Bytes bytes;
  base::Duration latency{};  ///< summed over the reads (drawn by the caller), open cost included
  /// The reader's work between the first and the last of the reads, which it does afterwards: the pace of the reads
  /// runs on meanwhile, as if it had asked for one after another.
  base::Duration between{};
};

/// Totals since construction.
struct StorageUse {
  std::int64_t reads = 0;
  base::Bytes bytes;
  base::Duration bandwidth_busy{};  ///< time the bandwidth clock was serving
  base::Duration iops_busy{};
};

/// Serves a Storage. Not thread-safe: the threaded engine holds a lock around it.
class StorageServer {
 public:
  explicit StorageServer(const Storage& storage);
  /// When the request is done. Requests are served in call order; one with an earlier time than the
  /// last is served as if it came at the same time.
  base::Instant Serve(const ReadRequest& request);
  StorageUse use() const { return UseOf(use_.reads, use_.bytes); }
  /// After so many reads of so many bytes in all.
  StorageUse UseOf(std::int64_t reads, base::Bytes bytes) const;
  /// `visitor`: see engine/state_visitor.h.
  template <class Visitor>
  void Visit(Visitor& visitor) {
    if (bandwidth_) bandwidth_->Visit(visitor);
    if (iops_) iops_->Visit(visitor);
    VisitSlots(visitor);
    visitor.Pending(last_request_);
    visitor.Total(use_.reads);
    visitor.Total(use_.bytes);
  }

 private:
  /// Slots are alike: only when they are free matters, not their places in the heap.
  template <class Visitor>
  void VisitSlots(Visitor& visitor) {
    if (visitor.moves()) {
      for (base::Instant& slot : slots_) visitor.Pending(slot);
      return;
    }
    std::vector<base::Instant> sorted = slots_;
    std::sort(sorted.begin(), sorted.end());
    for (base::Instant& slot : sorted) visitor.Pending(slot);
  }
  base::Instant TakeSlot(base::Instant served, base::Duration latency);

  bool serves_bytes_;  ///< else the caller has shared the bandwidth
  std::optional<ServiceClock> bandwidth_, iops_;
  /// Min-heap of when each queue slot is free; empty: unlimited.
  std::vector<base::Instant> slots_;
  base::Instant last_request_{base::Duration::min()};
  StorageUse use_;  ///< without the busy times, which UseOf knows
};

}  // namespace pipesim::cost
