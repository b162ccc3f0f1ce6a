// The clock of a run, and sleeping on it. It is passed in wherever time is read, so that tests and
// the virtual-time engine can supply their own.
#pragma once

#include <atomic>

#include "base/units.h"

namespace pipesim::base {

/// Set once, from any thread or a signal handler. Every long wait checks one.
class StopFlag {
 public:
  void Set() noexcept { set_.store(true, std::memory_order_release); }
  bool IsSet() const noexcept { return set_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> set_{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");
};

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Now() const = 0;
  /// Sleeps to the absolute instant `when`; at once if it has passed. Returns false if `stop` was
  /// set first (noticed within 50 ms). Never spins.
  virtual bool SleepUntil(Instant when, const StopFlag& stop) const = 0;
};

/// CLOCK_MONOTONIC with absolute clock_nanosleep.
class SystemClock final : public Clock {
 public:
  Instant Now() const override;
  bool SleepUntil(Instant when, const StopFlag& stop) const override;
};

/// Sets the calling thread's timer slack to 1 ns (PR_SET_TIMERSLACK); the default of 50 us causes
/// most of a sleep's overshoot. Every thread that emulates a delay calls it once.
void UseFinestTimerSlack();

/// CPU time consumed by the calling thread (CLOCK_THREAD_CPUTIME_ID; about 0.4 us a read).
Duration ThreadCpuTime();

/// CPU time consumed by the whole process, user and system.
Duration ProcessCpuTime();

}  // namespace pipesim::base
