// Recent states of a thread, to attribute another one's waiting to them: the device's gaps or a
// worker's wait to the consumer's states. Knows no threads.
#pragma once

#include <algorithm>

#include "base/units.h"
#include "engine/ring.h"
#include "engine/state_visitor.h"
#include "trace/span.h"

namespace pipesim::engine {

/// Not thread-safe.
class StateHistory {
 public:
  /// Call in time order, without overlap.
  void Add(trace::State state, base::Instant begin, base::Instant end) {
    if (begin >= end) return;
    Stay& stay = stays_.emplace_back();
    stay.state = state;
    stay.begin = begin;
    stay.end = end;
  }
  /// Drops states that ended by `instant`.
  void ForgetBefore(base::Instant instant) {
    while (!stays_.empty() && stays_.front().end <= instant) stays_.pop_front();
  }
  std::size_t size() const { return stays_.size(); }
  void Visit(StateVisitor& visitor) {
    visitor.Each(stays_, [&](Stay& stay) {
      visitor.Same(stay.state);
      visitor.Time(stay.begin);
      visitor.Time(stay.end);
    });
  }
  /// Splits [begin, end) by state and calls visit(state, begin, end) in time order, without gaps.
  /// Unrecorded time has the state `otherwise`.
  template <class Visit>
  void Over(base::Instant begin, base::Instant end, trace::State otherwise, Visit&& visit) const {
    std::size_t at = FirstThatEndsAfter(begin);
    for (; at < stays_.size() && begin < end && stays_[at].begin < end; ++at) {
      const Stay& stay = stays_[at];
      if (begin < stay.begin) visit(otherwise, begin, stay.begin);
      begin = std::max(begin, stay.begin);
      visit(stay.state, begin, std::min(stay.end, end));
      begin = std::min(stay.end, end);
    }
    if (begin < end) visit(otherwise, begin, end);
  }

 private:
  struct Stay {
    trace::State state{};
    base::Instant begin, end;
  };
  std::size_t FirstThatEndsAfter(base::Instant instant) const {
    std::size_t first = 0;
    for (std::size_t left = stays_.size(); left > 0;) {
      const std::size_t half = left / 2;
      const bool after = stays_[first + half].end > instant;
      first = after ? first : first + half + 1;
      left = after ? half : left - half - 1;
    }
    return first;
  }
  Ring<Stay> stays_;
};

}  // namespace pipesim::engine
