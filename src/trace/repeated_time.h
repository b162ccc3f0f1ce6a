// Where the time of a thread went while a run repeated itself: one period, and how often. Any stretch
// of it is the difference of two running sums, so that nothing is written for each period or bucket.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/units.h"
#include "trace/span.h"

namespace pipesim::trace {

/// The part of a span's `contended` that lies before `at`, a moment of the span. Contention is
/// spread evenly; its running total is what is rounded, so that the parts add up exactly and none
/// exceeds its time.
base::Duration ContendedUntil(const Span& span, base::Instant at);

/// The spans of one thread in one period, one after the other, and its time in each state until each
/// of them.
class PeriodThread {
 public:
  /// `spans`: at least one, of one thread.
  explicit PeriodThread(std::vector<Span> spans);

  const std::vector<Span>& spans() const { return spans_; }
  /// In which the thread is, kContended among them.
  const std::vector<State>& states() const { return states_; }
  /// The time in `state` in the first `since` of what begins with the first span and repeats itself
  /// every `length`.
  base::Duration Until(State state, base::Duration since, base::Duration length) const;

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;

  void FindStates();
  std::array<std::size_t, kStateCount> column_{};  ///< the place of each state in `states_`
  std::vector<Span> spans_;
  std::vector<State> states_;
  std::vector<base::Duration> so_far_;  ///< of `states_` before each span, and after the last one
};

/// What a thread did in [begin, end): `period`, again every `length`.
struct RepeatedTime {
  std::shared_ptr<const PeriodThread> period;
  base::Duration length{};
  base::Instant begin, end;

  /// The time in `state` in the part of [from, to) that lies in the stretch.
  base::Duration TimeIn(State state, base::Instant from, base::Instant to) const;
};

}  // namespace pipesim::trace
