// What a thread did lately, so that somebody else's waiting can be laid over it: the device's gaps
// over the consumer's states, a worker's wait over the consumer's. Free of threads.
#pragma once

#include <algorithm>
#include <deque>

#include "base/units.h"
#include "trace/span.h"

namespace pipesim::engine {

/// Not thread-safe.
class StateHistory {
 public:
  /// Stays come in time order and do not overlap.
  void Add(trace::State state, base::Instant begin, base::Instant end) {
    if (begin < end) stays_.push_back({state, begin, end});
  }
  /// What ended by `instant` will not be asked for again.
  void ForgetBefore(base::Instant instant) {
    while (!stays_.empty() && stays_.front().end <= instant) stays_.pop_front();
  }
  /// Cuts [begin, end) into pieces, in time order and without a hole: visit(state, begin, end).
  /// Where no stay is known the state is `otherwise`.
  template <class Visit>
  void Over(base::Instant begin, base::Instant end, trace::State otherwise, Visit&& visit) const {
    for (const Stay& stay : stays_) {
      if (begin >= end || stay.begin >= end) break;
      if (stay.end <= begin) continue;
      if (begin < stay.begin) visit(otherwise, begin, stay.begin);
      begin = std::max(begin, stay.begin);
      visit(stay.state, begin, std::min(stay.end, end));
      begin = std::min(stay.end, end);
    }
    if (begin < end) visit(otherwise, begin, end);
  }

 private:
  struct Stay {
    trace::State state;
    base::Instant begin, end;
  };
  std::deque<Stay> stays_;
};

}  // namespace pipesim::engine
