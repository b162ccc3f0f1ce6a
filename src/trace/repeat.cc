// The part of TraceBuilder that notes a period of a run that repeats itself, and records further
// ones all at once. Everything kept is a sum of integers, or is kept by the key of its step or
// batch alone, so the result is the same as from single records.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "trace/builder.h"

namespace pipesim::trace {

using base::Duration;
using base::Instant;

namespace {
// 16 MiB of spans: some ten thousand batches. A longer period is hardly ever repeated.
constexpr std::size_t kMostNotedSpans = std::size_t{1} << 18;

// Much longer than the number of threads and states of most runs.
constexpr std::size_t kSpansOfSlice = 256;

PeriodSlice SliceOf(const std::vector<Span>& spans, std::size_t begin, std::size_t end) {
  PeriodSlice slice{begin, end, Instant::max(), Instant::min(), {}};
  std::map<std::tuple<Role, std::uint16_t, State>, Duration> sums;
  for (std::size_t i = begin; i < end; ++i) {
    const Span& span = spans[i];
    slice.first = std::min(slice.first, span.begin);
    slice.last = std::max(slice.last, span.end);
    sums[{span.role, span.thread, span.state}] += span.end - span.begin - span.contended;
    if (span.contended > Duration::zero())
      sums[{span.role, span.thread, State::kContended}] += span.contended;
  }
  for (const auto& [which, time] : sums)
    slice.times.push_back({std::get<0>(which), std::get<1>(which), std::get<2>(which), time});
  return slice;
}

std::vector<PeriodEnd> EndsOf(const std::vector<Span>& spans) {
  std::map<std::pair<Role, std::uint16_t>, Instant> latest;
  for (const Span& span : spans) {
    Instant& end = latest.try_emplace({span.role, span.thread}, span.end).first->second;
    end = std::max(end, span.end);
  }
  std::vector<PeriodEnd> ends;
  for (const auto& [thread, end] : latest) ends.push_back({thread.first, thread.second, end});
  return ends;
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
  period.all = SliceOf(period.spans, 0, period.spans.size());
  for (std::size_t at = 0; at < period.spans.size(); at += kSpansOfSlice) {
    period.slices.push_back(
        SliceOf(period.spans, at, std::min(at + kSpansOfSlice, period.spans.size())));
  }
  period.ends = EndsOf(period.spans);
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
  if (!period.spans.empty()) RepeatTimes(period, repetition);
  RepeatOffers(period, repetition);
  if (!trace_.epochs.empty()) epochs_.Repeat(trace_.epochs, period.epochs, repetition);
  RepeatSteps(period, repetition);
}

// Periods that lie within a bucket are added all at once.
void TraceBuilder::RepeatTimes(const Period& period, const Repetition& repetition) {
  const Duration last = repetition.Later(repetition.times - 1);
  MakeBucketsFor(period.all.last + last);
  for (std::int64_t time = 0; time < repetition.times;) {
    const Duration later = repetition.Later(time);
    const std::optional<Duration> room = RoomInBucket(period.all, later);
    if (!room) {
      RepeatBySlices(period, later);
      ++time;
      continue;
    }
    const std::int64_t within =
        std::min(*room / repetition.length.done + 1, repetition.times - time);
    AddTimes(period.all, later, within);
    time += within;
  }
  for (const PeriodEnd& one : period.ends) {
    ThreadTotals& totals = trace_.threads[SlotOf(one.role, one.thread).place];
    totals.end = std::max(totals.end, one.end + last);
  }
}

std::optional<Duration> TraceBuilder::RoomInBucket(const PeriodSlice& slice, Duration later) const {
  const Duration width = trace_.bucket_width;
  const Duration begin = slice.first + later - trace_.bucket_origin;
  const Duration room = width * (begin / width + 1) - (slice.last + later - trace_.bucket_origin);
  if (begin < Duration::zero() || room < Duration::zero()) return std::nullopt;
  return room;
}

void TraceBuilder::AddTimes(const PeriodSlice& slice, Duration later, std::int64_t times) {
  const auto bucket =
      static_cast<std::size_t>((slice.first + later - trace_.bucket_origin) / trace_.bucket_width);
  for (const PeriodTime& one : slice.times) {
    ThreadTotals& totals = trace_.threads[SlotOf(one.role, one.thread).place];
    TimeAt(totals, bucket, one.state) += one.time * times;
  }
}

// What lies at the border of a bucket is added span by span.
void TraceBuilder::RepeatBySlices(const Period& period, Duration later) {
  for (const PeriodSlice& slice : period.slices) {
    if (RoomInBucket(slice, later)) {
      AddTimes(slice, later, 1);
      continue;
    }
    for (std::size_t i = slice.begin; i < slice.end; ++i) {
      Span span = period.spans[i];
      span.begin += later;
      span.end += later;
      AddToThread(span);
    }
  }
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
    KeepCheckpoint(mark_at(kept), trace_.checkpoint_stride, trace_.progress);
  trace_.steps = end;
  trace_.samples += length.samples * repetition.times;
  last_done_ += length.done * repetition.times;
  last_epoch_ += length.epoch * repetition.times;
  last_loaded_ += length.loaded * repetition.times;
}

}  // namespace pipesim::trace
