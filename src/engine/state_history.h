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
  std::size_t size() const { return stays_.size(); }
  /// Cuts [begin, end) into pieces, in time order and without a hole: visit(state, begin, end).
  /// Where no stay is known the state is `otherwise`.
  template <class Visit>
  void Over(base::Instant begin, base::Instant end, trace::State otherwise, Visit&& visit) const {
    const auto first = std::partition_point(stays_.begin(), stays_.end(),
                                            [&](const Stay& stay) { return stay.end <= begin; });
    for (auto at = first; at != stays_.end() && begin < end && at->begin < end; ++at) {
      const Stay& stay = *at;
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
