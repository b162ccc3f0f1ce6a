// Turns records into a bounded RunTrace as they come. One thread at a time; costs no allocation per
// record once warm.
#pragma once

#include <functional>

#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

class TraceBuilder final : public SpanSink {
 public:
  /// `seed` keys the reservoirs. Buckets start at 1 ms and double in width when 4,096 are full.
  TraceBuilder(base::Instant begin, std::uint64_t seed);

  void Record(const Span& span) override;
  void Record(const StepRecord& step) override;
  void Record(const BatchRecord& batch) override;
  /// Keeps at most 4,096; then every second one goes and the next come half as often.
  void Record(const ResourceSample& sample);
  void RecordBadSample(DataFault fault);
  /// All spans as well, for --trace-all. Called in Record's thread.
  void SetSpanObserver(std::function<void(const Span&)> observer);

  /// The trace so far; `Finish` ends it. Both may be called once the records before them are in.
  const RunTrace& trace() const { return trace_; }
  RunTrace Finish(base::Instant end, EndReason reason, std::string failure);

 private:
  ThreadTotals& Totals(Role role, std::uint16_t index);
  void AddTime(ThreadTotals& totals, const Span& span);
  void AddValue(Series series, std::int64_t key, base::Instant at, double value);
  void DoubleBuckets();

  RunTrace trace_;
  std::uint64_t seed_;
  std::function<void(const Span&)> observer_;
  base::Instant last_done_;
  // (private helpers and state as the implementation needs)
};

}  // namespace pipesim::trace
