#include "support/disturbance.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/clock.h"
#include "base/proc.h"

namespace pipesim::support {
namespace {

using namespace std::chrono_literals;

constexpr double kMostLate = 0.02;
constexpr double kMostForeignCores = 0.2;

base::Duration BusyTime() {
  base::Duration sum{};
  for (const auto& [cpu, busy] : base::ReadBusyTimes()) sum += busy;
  return sum;
}

base::Duration OwnTime() {
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return base::ProcessCpuTime() + of(children.ru_utime) + of(children.ru_stime);
}

}  // namespace

DisturbanceWatch::DisturbanceWatch()
    : begin_(base::SystemClock().Now()), busy_(BusyTime()), own_(OwnTime()) {
  for (const auto& [cpu, busy] : base::ReadBusyTimes())
    threads_.emplace_back([this, cpu = cpu] { Watch(cpu); });
}

DisturbanceWatch::~DisturbanceWatch() { End(); }

void DisturbanceWatch::End() {
  ended_ = true;
  for (std::thread& each : threads_) each.join();
  threads_.clear();
}

void DisturbanceWatch::Watch(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (pthread_setaffinity_np(pthread_self(), sizeof only, &only) != 0) return;
  const sched_param first{.sched_priority = 1};
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
  base::UseFinestTimerSlack();
  const base::SystemClock clock;
  const base::StopFlag never;
  while (!ended_) {
    const base::Instant when = clock.Now() + 5ms;
    clock.SleepUntil(when, never);
    late_ns_ += std::max<base::Duration>(clock.Now() - when - 200us, 0ns).count();
  }
}

std::string DisturbanceWatch::WhatDisturbed() {
  const auto watches = static_cast<double>(threads_.size());
  End();
  const double wall_s = base::ToSeconds(base::SystemClock().Now() - begin_);
  const double late_s = static_cast<double>(late_ns_) / 1e9 / std::max(1.0, watches);
  const double foreign_cores =
      base::ToSeconds((BusyTime() - busy_) - (OwnTime() - own_)) / wall_s;
  if (late_s > kMostLate * wall_s)
    return fmt::format("timers fired late for {:.0f} % of the time", 100 * late_s / wall_s);
  if (foreign_cores > kMostForeignCores)
    return fmt::format("other programs used {:.1f} cores", foreign_cores);
  return {};
}

}  // namespace pipesim::support
