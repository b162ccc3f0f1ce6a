// The part of TraceBuilder that notes a period of a run that repeats itself, and records further
// ones all at once. Everything kept is a sum of integers, or is kept by the key of its step or
// batch alone, so the result is the same as from single records.
#include <algorithm>
#include <array>
#include <utility>

#include "trace/builder.h"

namespace pipesim::trace {

using base::Duration;
using base::Instant;

namespace {
// 16 MiB of spans: some ten thousand batches. A longer period is hardly ever repeated.
constexpr std::size_t kMostNotedSpans = std::size_t{1} << 18;

void AddSums(PeriodThread& thread) {
  std::array<bool, kStateCount> seen{};
  const auto see = [&](State state) {
    const auto index = static_cast<std::size_t>(state);
    if (std::exchange(seen[index], true)) return;
    thread.column[index] = thread.states.size();
    thread.states.push_back(state);
  };
  for (const Span& span : thread.spans) {
    see(span.state);
    if (span.contended > Duration::zero()) see(State::kContended);
  }
  const std::size_t states = thread.states.size();
  thread.so_far.assign((thread.spans.size() + 1) * states, Duration::zero());
  for (std::size_t i = 0; i < thread.spans.size(); ++i) {
    const auto before = thread.so_far.begin() + static_cast<std::ptrdiff_t>(i * states);
    std::copy_n(before, states, before + static_cast<std::ptrdiff_t>(states));
    thread.AddUntil(thread.spans[i], thread.spans[i].end, &thread.so_far[(i + 1) * states]);
  }
}

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
  for (const Span& span : spans) {
    const bool first = period.threads.empty();
    if (first || period.threads.back().role != span.role ||
        period.threads.back().thread != span.thread)
      period.threads.push_back(
          {.role = span.role, .thread = span.thread, .spans = {}, .states = {}, .so_far = {}});
    period.threads.back().spans.push_back(span);
    period.last = first ? span.end : std::max(period.last, span.end);
  }
  for (PeriodThread& thread : period.threads) {
    AddSums(thread);
    period.whole = period.whole && Follow(thread.spans, period.length.done);
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

void PeriodThread::AddUntil(const Span& span, Instant at, Duration* times) const {
  const Duration contended = ContendedUntil(span, at);
  times[column[static_cast<std::size_t>(span.state)]] += at - span.begin - contended;
  if (contended > Duration::zero())
    times[column[static_cast<std::size_t>(State::kContended)]] += contended;
}

void PeriodThread::SumUntil(Duration since, Duration length,
                            std::array<Duration, kStateCount>& sums) const {
  const std::int64_t periods = since / length;
  const Instant at = spans.front().begin + since % length;
  const auto next = std::partition_point(spans.begin(), spans.end(),
                                         [at](const Span& span) { return span.end <= at; });
  const Duration* in_part = &so_far[static_cast<std::size_t>(next - spans.begin()) * states.size()];
  const Duration* in_whole = &so_far[spans.size() * states.size()];
  for (std::size_t state = 0; state < states.size(); ++state)
    sums[state] = in_whole[state] * periods + in_part[state];
  if (next != spans.end() && next->begin < at) AddUntil(*next, at, sums.data());
}

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
  for (const PeriodThread& thread : period.threads)
    RepeatTimes(trace_.threads[SlotOf(thread.role, thread.thread).place], thread, repetition);
}

// A bucket's share is the difference of the sums until its two borders, so that the work does not
// depend on how many periods a bucket holds.
void TraceBuilder::RepeatTimes(ThreadTotals& totals, const PeriodThread& thread,
                               const Repetition& repetition) {
  const Instant begin = thread.spans.front().begin + repetition.Later(0),
                end = thread.spans.back().end + repetition.Later(repetition.times - 1);
  const std::size_t states = thread.states.size();
  std::array<Duration, kStateCount> before{}, until{};
  std::size_t bucket = BucketOf(begin);
  Instant at = begin;
  for (; at < end; ++bucket) {
    const Instant border =
        trace_.bucket_origin + trace_.bucket_width * (static_cast<std::int64_t>(bucket) + 1);
    at = std::min(border, end);
    thread.SumUntil(at - begin, repetition.length.done, until);
    for (std::size_t state = 0; state < states; ++state)
      if (until[state] > before[state])
        TimeAt(totals, bucket, thread.states[state]) += until[state] - before[state];
    before = until;
  }
  totals.end = std::max(totals.end, end);
}

// The ranks of all keys are looked at once for all reservoirs, in blocks, since what the reservoirs
// still want becomes less.
void TraceBuilder::RepeatOffers(const Period& period, const Repetition& repetition) {
  constexpr std::int64_t kBlock = 4096;
  std::int64_t earliest = 0, latest = 0;  // in periods, of any place
  ForEachReservoir(period, [&](auto& keeper, const auto& of) {
    keeper.Saw(static_cast<std::int64_t>(of.offers.size()) * repetition.times);
    for (const PlaceOfOffer& place : of.places) {
      earliest = std::min<std::int64_t>(earliest, place.periods_later);
      latest = std::max<std::int64_t>(latest, place.periods_later);
    }
  });
  const std::int64_t steps = repetition.length.steps;
  const std::int64_t origin = trace_.steps;
  const std::int64_t end = origin + (repetition.times + latest) * steps;
  std::vector<RepeatedKey> keys;
  for (std::int64_t first = origin + earliest * steps; first < end; first += kBlock) {
    std::uint64_t limit = 0;
    ForEachReservoir(period, [&](auto& keeper, const auto& of) {
      if (!of.offers.empty()) limit = std::max(limit, keeper.limit());
    });
    keys.clear();
    rank_.ForEachUpTo(limit, first, std::min(kBlock, end - first),
                      [&](std::uint64_t rank, std::int64_t key) {
                        // Not negative, so that the division rounds down.
                        const std::int64_t from = key - origin - earliest * steps;
                        keys.push_back({rank, key, from / steps + earliest, from % steps});
                      });
    ForEachReservoir(period, [&](auto& keeper, const auto& of) {
      if (!of.offers.empty()) keeper.Repeat(of, repetition, keys);
    });
  }
}

void TraceBuilder::RepeatSteps(const Period& period, const Repetition& repetition) {
  const StepMark before = Mark();
  const StepMark& length = repetition.length;
  // The mark after the step `number`.
  const auto mark_at = [&](std::int64_t number) {
    const std::int64_t time = (number - before.steps - 1) / length.steps;
    const StepMark& in_period =
        period.steps[static_cast<std::size_t>((number - before.steps - 1) % length.steps)];
    return Checkpoint{.steps = number,
                      .samples = before.samples + length.samples * time + in_period.samples,
                      .epoch = before.epoch + length.epoch * time + in_period.epoch,
                      .at = Instant(before.done + length.done * time + in_period.done),
                      .loaded = before.loaded + length.loaded * time + in_period.loaded};
  };
  const std::int64_t end = before.steps + length.steps * repetition.times;
  const auto next_kept = [&](std::int64_t number) {
    return (number / trace_.checkpoint_stride + 1) * trace_.checkpoint_stride;
  };
  for (std::int64_t kept = next_kept(before.steps); kept <= end; kept = next_kept(kept))
    Keep(mark_at(kept));
  trace_.steps = end;
  trace_.samples += length.samples * repetition.times;
  last_done_ += length.done * repetition.times;
  last_epoch_ += length.epoch * repetition.times;
  last_loaded_ += length.loaded * repetition.times;
}

}  // namespace pipesim::trace
