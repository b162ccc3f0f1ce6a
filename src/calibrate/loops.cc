#include "calibrate/loops.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/stats.h"
#include "engine/threaded/burn_team.h"

namespace pipesim::calibrate {
namespace {

using Steady = std::chrono::steady_clock;

double Since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

double MedianOf(std::vector<double> values) { return *base::Quantile(std::move(values), 0.5); }

/// In blocks of fixed size and without aliasing, so that compilers vectorize it at any optimization
/// level.
void Triad(std::vector<double>& a, const std::vector<double>& b, const std::vector<double>& c,
           double factor) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t at = 0; at + kBlock <= a.size(); at += kBlock) {
    double* __restrict out = a.data() + at;
    const double* __restrict left = b.data() + at;
    const double* __restrict right = c.data() + at;
    for (std::size_t i = 0; i < kBlock; ++i) out[i] = left[i] + factor * right[i];
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps the stores of every round
}

}  // namespace

double WorkerStartupSeconds() {
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    const auto begin = Steady::now();
    double took = 0;
    std::thread([&] { took = Since(begin); }).join();
    times.push_back(took);
  }
  return MedianOf(std::move(times));
}

double WakeUpSeconds() {
  constexpr int kTimes = 200;
  sem_t semaphore{};
  sem_init(&semaphore, 0, 0);
  Steady::time_point posted;
  std::vector<double> times;
  std::thread sleeper([&] {
    base::UseFinestTimerSlack();
    for (int i = 0; i < kTimes; ++i) {
      while (sem_wait(&semaphore) != 0) {
      }
      times.push_back(Since(posted));
    }
  });
  for (int i = 0; i < kTimes; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    posted = Steady::now();
    sem_post(&semaphore);
  }
  sleeper.join();
  sem_destroy(&semaphore);
  return MedianOf(std::move(times));
}

double BurnHandoverSeconds() {
  return base::ToSeconds(engine::threaded::MeasureHandover(200, std::chrono::microseconds(500)));
}

std::optional<double> TurnSeconds() {
  constexpr double kGap = 0.2e-3, kWhile = 0.4;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(base::ReadCpuAllowance().cpus.back(), &one);
  std::vector<double> gaps[2];
  const auto spin = [&](std::vector<double>& seen) {
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    const auto begin = Steady::now();
    for (auto last = begin; Since(begin) < kWhile;) {
      const auto now = Steady::now();
      const double gap = std::chrono::duration<double>(now - last).count();
      if (gap > kGap) seen.push_back(gap);
      last = now;
    }
  };
  std::thread first([&] { spin(gaps[0]); }), second([&] { spin(gaps[1]); });
  first.join();
  second.join();
  gaps[0].insert(gaps[0].end(), gaps[1].begin(), gaps[1].end());
  return base::Quantile(gaps[0], 0.5);
}

double TriadBytesPerSecond(int threads, base::Bytes arrays) {
  constexpr double kMoved = 400e6;  // bytes, by each thread: 10 to 40 ms
  const std::size_t elements = static_cast<std::size_t>(arrays.count) / (3 * sizeof(double));
  const int rounds = static_cast<int>(kMoved / static_cast<double>(arrays.count));
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::barrier together(threads);
  const auto work = [&](std::size_t thread) {
    std::vector<double> a(elements), b(elements, 1), c(elements, 2);
    together.arrive_and_wait();
    const auto begin = Steady::now();
    for (int round = 0; round < rounds; ++round) Triad(a, b, c, 3 + round);
    rates[thread] = rounds * 3.0 * static_cast<double>(elements * sizeof(double)) / Since(begin);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, static_cast<std::size_t>(i));
  work(0);
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace pipesim::calibrate
