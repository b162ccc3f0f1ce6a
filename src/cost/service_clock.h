// A server that serves one request after another at a constant rate, first in first out. Exact: a
// busy server's fractions of a nanosecond add up, in integers. Never sleeps, knows no threads.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace pipesim::cost {

/// Instants are whole nanoseconds, rounded down. A clock that was idle begins at the request's own
/// instant, without the last service's fraction. So constant services recur exactly: at once where
/// the clock gets idle in between, else after at most as many as the fraction has denominators (11
/// of 550 MB/s, 49 of 98,000/s).
class ServiceClock {
 public:
  explicit ServiceClock(double per_s);
  /// When `amount` requested at `at` is served. `at` never goes back.
  base::Instant Serve(base::Instant at, std::int64_t amount);
  /// When the last of `amount` services begins if they come one after another.
  base::Instant LastStart(base::Instant at, std::int64_t amount);
  /// Of so much service in all.
  base::Duration TimeOf(std::int64_t amount) const;
  /// `visitor`: see engine/state_visitor.h. The fraction counts only until the clock is idle.
  template <class Visitor>
  void Visit(Visitor& visitor) {
    const bool busy = free_.time_since_epoch() >= visitor.now().time;
    visitor.Same(busy ? rest_ : 0);
    visitor.Pending(free_);
  }

 private:
  void SetAmount(std::int64_t amount);

  /// One service takes ns_ / parts_ nanoseconds.
  std::int64_t ns_ = 0, parts_ = 1;
  double ns_each_;
  /// The last amount, and its time: most requests ask for the same.
  std::int64_t amount_ = 0, whole_ns_ = 0, part_ = 0;
  std::int64_t rest_ = 0;  ///< how far beyond free_ the clock is busy, in 1 / parts_ ns
  base::Instant free_{base::Duration::min()};
};

}  // namespace pipesim::cost
