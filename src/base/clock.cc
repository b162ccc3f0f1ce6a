#include "base/clock.h"

#include <sys/prctl.h>
#include <time.h>

namespace pipesim::base {
namespace {

// Longest delay between setting a stop flag and noticing it.
constexpr Duration kLongestSlice = std::chrono::milliseconds(50);
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

Duration Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return Duration(now.tv_sec * kNsPerSecond + now.tv_nsec);
}

timespec ToTimespec(Instant when) {
  const std::int64_t ns = when.time_since_epoch().count();
  timespec result{};
  result.tv_sec = ns / kNsPerSecond;
  result.tv_nsec = ns % kNsPerSecond;
  return result;
}

}  // namespace

Instant SystemClock::Now() const { return Instant(Read(CLOCK_MONOTONIC)); }

bool SystemClock::SleepUntil(Instant when, const StopFlag& stop) const {
  for (;;) {
    const Instant now = Now();
    if (when <= now) return true;
    if (stop.IsSet()) return false;
    // An absolute deadline: neither signals nor slicing shift it.
    const timespec until = ToTimespec(when - now > kLongestSlice ? now + kLongestSlice : when);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

void UseFinestTimerSlack() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

Duration ThreadCpuTime() { return Read(CLOCK_THREAD_CPUTIME_ID); }

Duration ProcessCpuTime() { return Read(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace pipesim::base
