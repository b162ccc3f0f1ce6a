// The part of TraceBuilder that notes a period of a run that repeats itself, and records further
// ones all at once. Everything kept is a sum of integers, or is kept by the key of its step or
// batch alone, so the result is the same as from single records.
#include <algorithm>
#include <memory>
#include <utility>

#include "trace/builder.h"

namespace pipesim::trace {

using base::Duration;
using base::Instant;

namespace {
// 16 MiB of spans: some ten thousand batches. A longer period is hardly ever repeated.
constexpr std::size_t kMostNotedSpans = std::size_t{1} << 18;
/// Stretches of a thread that are looked at whenever its time is asked for. A run that skips periods in
/// each of many epochs has more.
constexpr std::size_t kMostRepeated = 4;

/// Counts steps as periods of `steps` and a place in the last one, mostly without a division.
class PlaceInPeriods {
 public:
  explicit PlaceInPeriods(std::int64_t steps, std::int64_t period = 0) : steps_(steps), period_(period) {}
  /// steps >= 0.
  void Advance(std::int64_t steps) {
    place_ += steps;
    if (place_ < steps_) return;
    const std::int64_t periods = place_ < 2 * steps_ ? 1 : place_ / steps_;
    period_ += periods;
    place_ -= periods * steps_;
  }
  std::int64_t period() const { return period_; }
  std::int64_t place() const { return place_; }

 private:
  std::int64_t steps_, period_, place_ = 0;
};

/// Whether a thread's spans follow each other, those of the next repetition included.
bool Follow(const std::vector<Span>& spans, Duration length) {
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i].begin < spans[i - 1].end) return false;
  return spans.front().begin + length >= spans.back().end;
}

void SortByThread(Period& period) {
  std::vector<Span> spans = std::exchange(period.spans, {});
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.role, a.thread) < std::pair(b.role, b.thread);
  });
  for (auto begin = spans.begin(); begin != spans.end();) {
    const auto end = std::find_if(begin, spans.end(), [begin](const Span& span) {
      return span.role != begin->role || span.thread != begin->thread;
    });
    std::vector<Span> own(begin, end);
    period.last = period.threads.empty() ? own.back().end : std::max(period.last, own.back().end);
    period.whole = period.whole && Follow(own, period.length.done);
    period.threads.push_back(std::make_shared<const PeriodThread>(std::move(own)));
    begin = end;
  }
}

EpochRecord Difference(const EpochRecord& after, const EpochRecord& before) {
  EpochRecord added;
  added.starved = after.starved - before.starved;
  added.steps = after.steps - before.steps;
  added.samples = after.samples - before.samples;
  added.reads = after.reads - before.reads;
  added.cache_hits = after.cache_hits - before.cache_hits;
  added.bytes = after.bytes - before.bytes;
  return added;
}

}  // namespace

template <class MaybeConstPeriod, class Visit>
void TraceBuilder::ForEachReservoir(MaybeConstPeriod& period, const Visit& visit) {
  visit(step_times_, period.step_times);
  visit(losses_, period.losses);
  visit(device_steps_, period.device_steps);
  visit(transfers_, period.transfers);
  visit(steps_, period.taken);
  visit(batches_, period.batches);
}

void TraceBuilder::BeginPeriod() {
  noted_.emplace();
  noted_->begin = Mark();
  noted_->epochs_before = trace_.epochs.size();
  if (!trace_.epochs.empty()) noted_->epoch_before = trace_.epochs.back();
  ForEachReservoir(*noted_, [](auto& keeper, auto& of) { keeper.NoteIn(&of.offers); });
}

void TraceBuilder::Note(const Span& span) {
  if (noted_->spans.size() < kMostNotedSpans) {
    noted_->spans.push_back(span);
  } else {
    noted_->whole = false;
  }
}

Period TraceBuilder::EndPeriod() {
  ForEachReservoir(*noted_, [](auto& keeper, auto&) { keeper.NoteIn(nullptr); });
  Period period = std::move(*noted_);
  noted_.reset();
  period.length = Mark() - period.begin;
  ForEachReservoir(
      period, [&](auto&, auto& of) { of.FindPlaces(period.begin.steps, period.length.steps); });
  SortByThread(period);
  if (trace_.epochs.size() == period.epochs_before && !trace_.epochs.empty()) {
    period.epochs.added = Difference(trace_.epochs.back(), period.epoch_before);
  } else {
    period.epochs.begun.assign(
        trace_.epochs.begin() + static_cast<std::ptrdiff_t>(period.epochs_before),
        trace_.epochs.end());
  }
  return period;
}

void TraceBuilder::Repeat(const Period& period, std::int64_t times) {
  const Repetition repetition{period.length, Mark() - period.begin, times};
  if (!period.threads.empty()) RepeatTimes(period, repetition);
  RepeatOffers(period, repetition);
  if (!trace_.epochs.empty()) epochs_.Repeat(trace_.epochs, period.epochs, repetition);
  RepeatSteps(period, repetition);
}

void TraceBuilder::RepeatTimes(const Period& period, const Repetition& repetition) {
  MakeBucketsFor(period.last + repetition.Later(repetition.times - 1));
  for (const auto& thread : period.threads) {
    const Span& first = thread->spans().front();
    ThreadTotals& totals = trace_.threads[SlotOf(first.role, first.thread).place];
    if (totals.repeated.size() == kMostRepeated) {
      WriteToBuckets(totals, totals.repeated.front());
      totals.repeated.erase(totals.repeated.begin());
    }
    const Instant end = thread->spans().back().end + repetition.Later(repetition.times - 1);
    totals.repeated.push_back({.period = thread,
                               .length = repetition.length.done,
                               .begin = first.begin + repetition.Later(0),
                               .end = end});
    totals.end = std::max(totals.end, end);
  }
}

void TraceBuilder::WriteToBuckets(ThreadTotals& totals, const RepeatedTime& stretch) {
  std::size_t bucket = BucketOf(stretch.begin);
  for (Instant at = stretch.begin; at < stretch.end; ++bucket) {
    const Instant border =
        trace_.bucket_origin + trace_.bucket_width * (static_cast<std::int64_t>(bucket) + 1);
    const Instant until = std::min(border, stretch.end);
    for (const State state : stretch.period->states()) {
      const Duration time = stretch.TimeIn(state, at, until);
      if (time > Duration::zero()) TimeAt(totals, bucket, state) += time;
    }
    at = until;
  }
}

// The ranks of all keys are looked at once for all reservoirs, in blocks, since what the reservoirs
// still want becomes less.
void TraceBuilder::RepeatOffers(const Period& period, const Repetition& repetition) {
  constexpr std::int64_t kBlock = 4096;
  std::int64_t earliest = 0, latest = 0;  // in periods, of any place
  std::uint64_t lowerable = 0;
  ForEachReservoir(period, [&](auto& keeper, const auto& of) {
    if (of.at_each_step) lowerable = std::max(lowerable, keeper.lowerable_limit());
    keeper.Saw(static_cast<std::int64_t>(of.offers.size()) * repetition.times);
    for (const PlaceOfOffer& place : of.places) {
      earliest = std::min<std::int64_t>(earliest, place.periods_later);
      latest = std::max<std::int64_t>(latest, place.periods_later);
    }
  });
  const std::int64_t steps = repetition.length.steps;
  const std::int64_t origin = trace_.steps;
  const std::int64_t end = origin + (repetition.times + latest) * steps;
  // Where each step offers one key, all of these come.
  const std::int64_t sure = origin + latest * steps;
  const std::uint64_t enough =
      rank_.LimitForReservoir(sure, (repetition.times + earliest - latest) * steps, lowerable);
  ForEachReservoir(period, [&](auto& keeper, const auto& of) {
    if (of.at_each_step) keeper.LowerLimit(enough);
  });
  std::vector<RepeatedKey> keys;
  PlaceInPeriods at(steps, earliest);
  std::int64_t last = origin + earliest * steps;
  for (std::int64_t first = origin + earliest * steps; first < end; first += kBlock) {
    std::uint64_t limit = 0;
    ForEachReservoir(period, [&](auto& keeper, const auto& of) {
      if (!of.offers.empty()) limit = std::max(limit, keeper.limit());
    });
    keys.clear();
    rank_.ForEachUpTo(limit, first, std::min(kBlock, end - first),
                      [&](std::uint64_t rank, std::int64_t key) {
                        at.Advance(key - std::exchange(last, key));
                        keys.push_back({rank, key, at.period(), at.place()});
                      });
    ForEachReservoir(period, [&](auto& keeper, const auto& of) {
      if (!of.offers.empty()) keeper.Repeat(of, repetition, keys);
    });
  }
}

void TraceBuilder::RepeatSteps(const Period& period, const Repetition& repetition) {
  const StepMark before = Mark();
  const StepMark& length = repetition.length;
  const StepMark after = before + length * repetition.times;
  // The stride is a power of two.
  const auto next_kept = [&](std::int64_t number) { return (number | (trace_.checkpoint_stride - 1)) + 1; };
  PlaceInPeriods at(length.steps);
  std::int64_t last = before.steps + 1;
  StepMark begin = before;  // of the period that `kept` lies in
  std::int64_t begun = 0;
  for (std::int64_t kept = next_kept(before.steps); kept <= after.steps; kept = next_kept(kept)) {
    at.Advance(kept - std::exchange(last, kept));
    if (at.period() != begun) {
      begun = at.period();
      begin = before + length * begun;
    }
    const StepMark& in_period = period.steps[static_cast<std::size_t>(at.place())];
    Keep({.steps = kept,
          .samples = begin.samples + in_period.samples,
          .epoch = begin.epoch + in_period.epoch,
          .at = Instant(begin.done + in_period.done),
          .loaded = begin.loaded + in_period.loaded});
  }
  trace_.steps = after.steps;
  trace_.samples = after.samples;
  last_done_ = Instant(after.done);
  last_epoch_ = after.epoch;
  last_loaded_ = after.loaded;
}

}  // namespace pipesim::trace
