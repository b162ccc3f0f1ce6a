// Where the consumers of all accelerators meet after each step (run.barrier): nobody begins the next
// one before the last has come. Adds up each epoch as MLPerf Storage counts it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "engine/virtual_time/actor.h"
#include "trace/builder.h"

namespace pipesim::engine::virtual_time {

/// The consumers have the same steps in the same epochs, so that none can miss the others.
class Barrier {
 public:
  explicit Barrier(int accelerators) : waiting_(static_cast<std::size_t>(accelerators)) {}

  /// A consumer's own step, which ends now.
  struct Arrival {
    int accelerator = 0;
    std::int64_t epoch = 0;
    std::int32_t samples = 0;
    base::Duration compute{};  ///< of the step, without waiting
    base::Instant now;
  };
  /// True: it is the last one, and the step is over; then call Release. False: it must wait.
  bool Arrive(Actor& consumer, const Arrival& arrival, trace::TraceBuilder& builder);
  /// Wakes all that wait, the lower accelerator first.
  template <class Wake>
  void Release(const Wake& wake) {
    arrived_ = 0;
    for (Actor*& waiting : waiting_) {
      if (Actor* const consumer = std::exchange(waiting, nullptr)) wake(*consumer);
    }
  }

 private:
  void Count(const Arrival& arrival);

  std::vector<Actor*> waiting_;  ///< by accelerator
  std::size_t arrived_ = 0;
  trace::MetEpoch epoch_;
};

}  // namespace pipesim::engine::virtual_time
