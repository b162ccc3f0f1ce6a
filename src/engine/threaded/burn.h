// Consumes an exact amount of thread CPU time, as preparing a sample would. Shows what competing
// for cores does; does not show SMT, cache or memory-bandwidth contention.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace pipesim::engine::threaded {

/// Belongs to one thread.
class Burner {
 public:
  /// Below this a burn would be mostly clock reads (0.4 us each): the cost is kept until more
  /// comes.
  static constexpr base::Duration kLeast = std::chrono::microseconds(20);

  /// Burns about `cost` of this thread's CPU time. The difference is carried over to the next call,
  /// so the sum is exact. Ends early when `stop` is set (noticed
  /// within about 0.1 ms of CPU time).
  void Burn(base::Duration cost, const base::StopFlag& stop);

 private:
  void Turn(std::int64_t turns);

  base::Duration owed_{};      ///< still to burn; negative: burned ahead
  double turns_per_ns_ = 0.1;  ///< a careful first guess, measured from the first slice on
  std::uint64_t value_ = 1;
};

}  // namespace pipesim::engine::threaded
