// Builds a bounded RunTrace from records. Not thread-safe; allocates nothing per record once warm.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "trace/keepers.h"
#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

struct TraceOptions {
  /// Buckets start 1 ms wide and double in width when all of these (a power of two up to
  /// kMaxBuckets) are full.
  std::size_t max_buckets = kMaxBuckets;
  /// Fill RunTrace::first_spans and last_spans. Costs up to a third of a prediction's time.
  bool keep_spans = false;
};

/// Steps must arrive in order, and a thread's spans in order and before their step or batch.
/// Records of different threads may interleave in any way.
class TraceBuilder final : public SpanSink {
 public:
  /// `seed` keys the reservoirs.
  TraceBuilder(base::Instant begin, std::uint64_t seed, const TraceOptions& options = {});

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
  void RecordBadSample(DataFault fault);

  /// The trace so far, without its series and last spans, which Finish adds.
  const RunTrace& trace() {
    AddAllStays();
    return trace_;
  }
  /// Moves the trace out. Call once, and record nothing afterwards.
  RunTrace Finish(base::Instant end, EndReason reason, std::string failure);

 private:
  /// A thread's time in one state.
  struct Stay {
    base::Instant end;
    base::Duration time{}, contended{};
    State state{};
    base::Instant begin() const { return end - time; }
  };
  /// The index of a thread's totals in trace_.threads, and the bucket in which its last stay ended.
  /// Stays wait here until there are some to add: the totals of many threads do not fit into the
  /// processor's first cache together, those of one do.
  struct Slot {
    static constexpr std::size_t kNowhere = SIZE_MAX;
    static constexpr std::size_t kStays = 16;
    std::size_t place = kNowhere;
    std::size_t bucket = 0;
    base::Instant from, to = base::Instant::min();  ///< the bucket's interval; empty: none yet
    std::size_t waiting = 0;
    std::array<Stay, kStays> stays;
  };
  Slot& SlotOf(Role role, std::uint16_t index) {
    std::vector<Slot>& slots = slots_[static_cast<std::size_t>(role)];
    if (index < slots.size() && slots[index].place != Slot::kNowhere) [[likely]] {
      return slots[index];
    }
    return MakeSlot(role, index);
  }
  void AddToThread(const Span& span) {
    Slot& slot = SlotOf(span.role, span.thread);
    if (slot.waiting == Slot::kStays) [[unlikely]]
      AddStays(slot);
    Stay& stay = slot.stays[slot.waiting++];
    stay.end = span.end;
    stay.time = span.end - span.begin;
    stay.contended = span.contended;
    stay.state = span.state;
  }
  void AddStays(Slot& slot);
  void AddAllStays();
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
  static void Grow(std::vector<base::Duration>& times, std::size_t bucket);

  Slot& MakeSlot(Role role, std::uint16_t index);
  /// The end of a thread's last span; nullopt: it has none.
  std::optional<base::Instant> EndOf(Role role, std::uint16_t index) const;
  /// Returns true for spans that do not belong to the device's partition.
  bool AddDeviceOrTransfer(const Span& span);
  void AddTime(Slot& slot, const Stay& stay);
  void AddToBuckets(Slot& slot, const Stay& stay, base::Instant begin);
  void DoubleBuckets();
  void AddTransfer(const Span& span);

  std::size_t max_buckets_;
  bool keep_spans_;
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
  base::Duration consumer_transfer_{};  ///< since the last step
  bool device_tells_transfers_ = false;
  std::int64_t resource_readings_ = 0, resource_stride_ = 1;
};

}  // namespace pipesim::trace
