// What a TraceBuilder recorded in one period of a run that repeats itself, so that further periods
// can be recorded all at once. Plain data.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

/// How far a run has come with its last step, or what lies between two steps.
struct StepMark {
  base::Duration done{};  ///< since the timeline's origin
  std::int64_t steps = 0, samples = 0, loaded = 0, epoch = 0;
};

inline StepMark operator-(const StepMark& a, const StepMark& b) {
  return {a.done - b.done, a.steps - b.steps, a.samples - b.samples, a.loaded - b.loaded,
          a.epoch - b.epoch};
}

inline StepMark operator+(const StepMark& a, const StepMark& b) {
  return {a.done + b.done, a.steps + b.steps, a.samples + b.samples, a.loaded + b.loaded,
          a.epoch + b.epoch};
}
inline StepMark operator*(const StepMark& a, std::int64_t times) {
  return {a.done * times, a.steps * times, a.samples * times, a.loaded * times, a.epoch * times};
}

/// How a noted period is repeated.
struct Repetition {
  StepMark length;       ///< of a period
  StepMark since_noted;  ///< from the noted period's begin to the first repetition's
  std::int64_t times = 0;

  /// From the noted period to the repetition `time` of 0 ... times - 1.
  base::Duration Later(std::int64_t time) const { return since_noted.done + length.done * time; }
};

/// One key with a value for each series of a group.
template <std::size_t kSeries>
struct Offered {
  std::uint64_t rank = 0;
  std::int64_t key = 0;
  base::Instant at;
  std::array<double, kSeries> values{};
};

/// A key of the stretch that is repeated, counted from its first step on: in period `period`, at
/// `place`.
struct RepeatedKey {
  std::uint64_t rank = 0;
  std::int64_t key = 0, period = 0, place = 0;
};

/// Which offer of a period has the key of a place, and how many periods after its own.
struct PlaceOfOffer {
  std::int32_t offer = -1;  ///< -1: none
  std::int32_t periods_later = 0;
};

/// What a period offered to a reservoir. Keys of the same place in different periods differ by a
/// multiple of the period's steps.
template <std::size_t kSeries>
struct PeriodOffers {
  std::vector<Offered<kSeries>> offers;
  std::vector<PlaceOfOffer> places;
  bool at_each_step = false;  ///< no place is without an offer

  /// Call when all is offered. `first`: the key of the period's first step.
  void FindPlaces(std::int64_t first, std::int64_t steps) {
    places.assign(static_cast<std::size_t>(steps), {});
    for (std::size_t i = 0; i < offers.size(); ++i) {
      const std::int64_t from_first = offers[i].key - first;
      const std::int64_t place = (from_first % steps + steps) % steps;
      places[static_cast<std::size_t>(place)] = {
          static_cast<std::int32_t>(i), static_cast<std::int32_t>((from_first - place) / steps)};
    }
    at_each_step = std::all_of(places.begin(), places.end(),
                               [](const PlaceOfOffer& place) { return place.offer >= 0; });
  }
};

/// What a period added to the epochs: to one, or whole ones.
struct PeriodEpochs {
  EpochRecord added;               ///< the sums, when the period lies within an epoch
  std::vector<EpochRecord> begun;  ///< else
};

struct Period {
  bool whole = true;  ///< false: it had too many records, or spans of one thread overlap
  StepMark begin, length;
  std::vector<Span> spans;  ///< as they came; once noted, those of `threads`
  std::vector<std::shared_ptr<const PeriodThread>> threads;
  base::Instant last;           ///< the latest end of a span
  std::vector<StepMark> steps;  ///< since `begin`
  std::size_t epochs_before = 0;
  EpochRecord epoch_before;
  PeriodEpochs epochs;
  PeriodOffers<1> step_times, losses, device_steps, transfers;
  PeriodOffers<2> taken;
  PeriodOffers<5> batches;
};

}  // namespace pipesim::trace
