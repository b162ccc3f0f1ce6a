// Builds a bounded RunTrace from records. Not thread-safe; allocates nothing per record once warm.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "trace/keepers.h"
#include "trace/period.h"
#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

struct TraceOptions {
  /// Buckets start 1 ms wide and double in width when all of these (a power of two up to
  /// kMaxBuckets) are full.
  std::size_t max_buckets = kMaxBuckets;
  /// About how long the run lasts: buckets start as wide as if it were over. Too long makes them wider
  /// than they would become.
  base::Duration lasts{};
  /// Fill RunTrace::first_spans and last_spans. Costs 5 to 25 % of a prediction's time.
  bool keep_spans = false;
  /// Record no more than the throughput needs: the progress, the waits of threads, the device's time and
  /// its steps. All else stays empty.
  bool only_rate = false;
  /// Fill Series::kStepTime, kStarved, kOccupancy and kLoss.
  bool step_series = true;
  /// Fill RunTrace::first_progress and first_device_steps.
  bool keep_first = false;
};

/// Whether the throughput depends on how long a thread is in `state`.
inline bool CountsForRate(State state) {
  return state == State::kStarved || state == State::kBlockedOnConsumer || state == State::kIdle;
}

/// Steps must arrive in order, and a thread's spans in order and before their step or batch.
/// Records of different threads may interleave in any way.
class TraceBuilder final : public SpanSink {
 public:
  /// `seed` keys the reservoirs.
  TraceBuilder(base::Instant begin, std::uint64_t seed, const TraceOptions& options = {});

  /// Threads may leave out spans that are not needed (only_rate).
  void Record(const Span& span) override {
    const bool is_step = span.state == State::kTransfer || span.state == State::kBusy;
    if (!is_step || !AddDeviceOrTransfer(span)) AddToThread(span);
    // Last, because the caller has just written the span field by field: a wider load must wait
    // until those stores have reached the cache (no store-to-load forwarding).
    if (keep_spans_) [[unlikely]]
      spans_.Add(trace_.first_spans, span);
  }
  void Record(const StepRecord& step) override;
  void Record(const BatchRecord& batch) override;
  /// Keeps at most 4,096: when full, drops every second one and halves the sampling rate.
  void Record(const ResourceSample& sample);
  /// A thread whose spans were left out was there from `begin` to `end`.
  void RecordPresence(Role role, std::uint16_t thread, base::Instant begin, base::Instant end);
  void RecordBadSample(DataFault fault);
  /// After each step of an epoch, which replaces the record after the step before.
  void Record(const MetEpoch& epoch);

  // A run that repeats itself. Both calls come between records, in the same state of the run.
  /// Notes what is recorded from now on, as a period.
  void BeginPeriod();
  Period EndPeriod();
  /// As if the records of `period` came `times` more times, each time later by its length. Spans of
  /// single batches (TraceOptions::keep_spans) are not repeated.
  void Repeat(const Period& period, std::int64_t times);

  bool keeps_spans() const { return keep_spans_; }
  bool only_rate() const { return only_rate_; }
  /// The trace so far with its series, as a copy.
  RunTrace Snapshot(base::Instant end, EndReason reason) const;
  /// The trace so far, without its series and last spans, which Finish adds.
  const RunTrace& trace() const { return trace_; }
  /// Moves the trace out. Call once, and record nothing afterwards.
  RunTrace Finish(base::Instant end, EndReason reason, std::string failure);

 private:
  /// The index of a thread's totals in trace_.threads, and the bucket in which its last span ended.
  struct Slot {
    static constexpr std::size_t kNowhere = SIZE_MAX;
    std::size_t place = kNowhere;
    std::size_t bucket = 0;
    base::Instant from, to = base::Instant::min();  ///< the bucket's interval; empty: none yet
  };
  Slot& SlotOf(Role role, std::uint16_t index) {
    std::vector<Slot>& slots = slots_[static_cast<std::size_t>(role)];
    if (index < slots.size() && slots[index].place != Slot::kNowhere) [[likely]] {
      return slots[index];
    }
    return MakeSlot(role, index);
  }
  void AddToThread(const Span& span) {
    if (noted_) [[unlikely]]
      Note(span);
    Slot& slot = SlotOf(span.role, span.thread);
    // The usual case: the whole span lies in the last span's bucket.
    if (slot.from <= span.begin && span.end <= slot.to) [[likely]] {
      ThreadTotals& totals = trace_.threads[slot.place];
      AddToBucket(totals, slot.bucket, span.state, span.end - span.begin, span.contended);
      totals.end = std::max(totals.end, span.end);
    } else {
      AddTime(slot, span);
    }
  }
  void AddToBucket(ThreadTotals& totals, std::size_t bucket, State state, base::Duration time,
                   base::Duration contended) {
    TimeAt(totals, bucket, state) += time - contended;
    if (contended > base::Duration::zero()) [[unlikely]] {
      TimeAt(totals, bucket, State::kContended) += contended;
    }
  }
  base::Duration& TimeAt(ThreadTotals& totals, std::size_t bucket, State state) {
    std::vector<base::Duration>& times = totals.times[static_cast<std::size_t>(state)];
    if (times.size() <= bucket) [[unlikely]]
      Grow(times, bucket);
    return times[bucket];
  }
  /// Makes room for `bucket`. A long run needs all buckets soon and is spared the copies.
  void Grow(std::vector<base::Duration>& times, std::size_t bucket) const {
    constexpr std::size_t kOfShortRun = 64;
    times.reserve(bucket < kOfShortRun ? std::min(kOfShortRun, max_buckets_) : max_buckets_);
    times.resize(std::bit_ceil(bucket + 1));
  }

  Slot& MakeSlot(Role role, std::uint16_t index);
  const ThreadTotals* FindTotals(Role role, std::uint16_t index) const;
  /// Returns true for spans that do not belong to the device's partition.
  bool AddDeviceOrTransfer(const Span& span);
  void AddTime(Slot& slot, const Span& span);
  void AddToBuckets(Slot& slot, const Span& span, base::Instant begin);
  void MakeBucketsFor(base::Instant end);
  void DoubleBuckets();
  void AddTransfer(const Span& span);
  void AddStep(const StepRecord& step);
  void AddToStepSeries(const StepRecord& step, std::uint64_t rank);

  StepMark Mark() const {
    return {last_done_.time_since_epoch(), trace_.steps, trace_.samples, last_loaded_, last_epoch_};
  }
  void Note(const Span& span);
  /// visit(keeper, its offers of `period`) for each reservoir.
  template <class MaybeConstPeriod, class Visit>
  void ForEachReservoir(MaybeConstPeriod& period, const Visit& visit);
  void RepeatTimes(const Period& period, const Repetition& repetition);
  void WriteToBuckets(ThreadTotals& totals, const RepeatedTime& stretch);
  void Keep(const Checkpoint& checkpoint) {
    KeepCheckpoint(checkpoint, trace_.checkpoint_stride, trace_.progress,
                   keep_first_ ? &trace_.first_progress : nullptr);
  }
  /// Once `progress` keeps not all: goes on until there are enough, or steps were repeated.
  void GrowFirst(const Checkpoint& checkpoint);
  /// Of a moment no earlier than the buckets' origin.
  std::size_t BucketOf(base::Instant at) const {
    return static_cast<std::size_t>((at - trace_.bucket_origin) / trace_.bucket_width);
  }
  void RepeatOffers(const Period& period, const Repetition& repetition);
  void RepeatSteps(const Period& period, const Repetition& repetition);

  std::size_t max_buckets_;
  bool keep_spans_, only_rate_, step_series_, keep_first_;
  bool grows_first_ = keep_first_;
  RunTrace trace_;
  std::array<std::vector<Slot>, kRoleCount> slots_;  ///< by role and index
  KeyRank rank_;
  /// Values of one step, or of one batch, are kept or dropped together.
  ReservoirKeeper<1> step_times_, losses_, device_steps_, transfers_;
  ReservoirKeeper<2> steps_;    ///< kStarved, kOccupancy
  ReservoirKeeper<5> batches_;  ///< kReadTime … kContendedTime
  SpanKeeper spans_;
  EpochKeeper epochs_;
  base::Instant last_done_;
  std::int64_t last_epoch_ = -1, last_loaded_ = 0;
  std::optional<Period> noted_;            ///< while a period is noted
  base::Duration consumer_transfer_{};  ///< since the last step
  bool device_tells_transfers_ = false;
  std::int64_t resource_readings_ = 0, resource_stride_ = 1;
};

}  // namespace pipesim::trace
