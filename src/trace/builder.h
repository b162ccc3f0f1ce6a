// Turns records into a bounded RunTrace as they come. One thread at a time; costs no allocation per
// record once warm.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "trace/keepers.h"
#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

/// Steps come in order; a thread's spans come in order and before the step or batch they are of.
/// Threads may run ahead of each other at will.
class TraceBuilder final : public SpanSink {
 public:
  /// `seed` keys the reservoirs. Buckets start at 1 ms and double in width when `max_buckets`, a
  /// power of two up to kMaxBuckets, are full.
  TraceBuilder(base::Instant begin, std::uint64_t seed, std::size_t max_buckets = kMaxBuckets);

  void Record(const Span& span) override;
  void Record(const StepRecord& step) override;
  void Record(const BatchRecord& batch) override;
  /// Keeps at most 4,096; then every second one goes and the next come half as often.
  void Record(const ResourceSample& sample);
  void RecordBadSample(DataFault fault);
  /// All spans as well, for --trace-all. Called in Record's thread.
  void SetSpanObserver(std::function<void(const Span&)> observer);

  /// The trace so far, its series still with up to twice what is kept in the end; `Finish` ends it.
  /// Both may be called once the records before them are in.
  const RunTrace& trace() const { return trace_; }
  /// Gives the trace away: call once, and record nothing after it.
  RunTrace Finish(base::Instant end, EndReason reason, std::string failure);

 private:
  ThreadTotals& Totals(Role role, std::uint16_t index);
  const ThreadTotals* FindTotals(Role role, std::uint16_t index) const;
  void AddTime(ThreadTotals& totals, const Span& span);
  /// `rank` is the key's.
  void AddValue(Series series, std::int64_t key, std::uint64_t rank, base::Instant at,
                double value);
  void AddTransfer(const Span& span);
  void AddCheckpoint(const StepRecord& step);
  void DoubleBuckets();

  std::size_t max_buckets_;
  RunTrace trace_;
  std::function<void(const Span&)> observer_;
  /// Where a thread's totals stand in trace_.threads, by role and index; -1: nowhere yet.
  std::array<std::vector<int>, kRoleCount> places_;
  KeyRank rank_;
  std::array<ReservoirKeeper, kSeriesCount> reservoirs_;  ///< by series
  SpanKeeper spans_;
  EpochKeeper epochs_;
  base::Instant last_done_;
  base::Duration consumer_transfer_{};  ///< since the last step
  bool device_tells_transfers_ = false;
  std::int64_t resource_readings_ = 0, resource_stride_ = 1;
};

}  // namespace pipesim::trace
