#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace pipesim::base {
namespace {

using std::chrono::milliseconds;

TEST(SystemClockTest, NeverWakesBeforeTheInstant) {
  const SystemClock clock;
  const StopFlag stop;
  for (const int ms : {0, 1, 3, 60, 120}) {
    const Instant when = clock.Now() + milliseconds(ms);
    EXPECT_TRUE(clock.SleepUntil(when, stop));
    EXPECT_GE(clock.Now(), when);
  }
}

TEST(SystemClockTest, ReturnsAtOnceWhenTheInstantHasPassed) {
  const SystemClock clock;
  StopFlag stop;
  stop.Set();  // still returns true: there was nothing to wait for
  EXPECT_TRUE(clock.SleepUntil(clock.Now() - milliseconds(1), stop));
}

TEST(SystemClockTest, ASetFlagEndsALongSleep) {
  const SystemClock clock;
  StopFlag stop;
  std::thread setter([&] {
    const StopFlag never;
    clock.SleepUntil(clock.Now() + milliseconds(20), never);
    stop.Set();
  });
  const Instant tomorrow = clock.Now() + std::chrono::hours(24);
  EXPECT_FALSE(clock.SleepUntil(tomorrow, stop));
  setter.join();
}

TEST(SystemClockTest, AnAlreadySetFlagIsNoticedFirst) {
  const SystemClock clock;
  StopFlag stop;
  stop.Set();
  EXPECT_FALSE(clock.SleepUntil(clock.Now() + std::chrono::hours(24), stop));
}

TEST(CpuTime, GrowsWithWorkAndNotWithSleep) {
  const SystemClock clock;
  const StopFlag stop;
  const Duration start = ThreadCpuTime();
  clock.SleepUntil(clock.Now() + milliseconds(60), stop);
  const Duration slept = ThreadCpuTime() - start;
  while (ThreadCpuTime() - start < slept + milliseconds(20)) {
  }
  EXPECT_LT(slept, milliseconds(20));
  EXPECT_GE(ProcessCpuTime(), milliseconds(20));
}

TEST(CpuTime, CountsOnlyTheCallingThread) {
  const Duration before = ThreadCpuTime();
  std::thread([] {
    const Duration start = ThreadCpuTime();
    while (ThreadCpuTime() - start < milliseconds(30)) {
    }
  }).join();
  EXPECT_LT(ThreadCpuTime() - before, milliseconds(30));
}

}  // namespace
}  // namespace pipesim::base
