#include "base/clock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

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

Duration ThreadRunQueueWait() {
  constexpr Duration kUnknown{-1};
  const int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kUnknown;
  char text[128];
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  if (size <= 0) return kUnknown;
  // "<ns on a core> <ns in the run queue> <slices>"
  const char* end = text + size;
  const char* second = std::find<const char*>(text, end, ' ');
  if (second == end) return kUnknown;
  std::int64_t ns = 0;
  if (std::from_chars(second + 1, end, ns).ec != std::errc()) return kUnknown;
  return Duration(ns);
}

}  // namespace pipesim::base
