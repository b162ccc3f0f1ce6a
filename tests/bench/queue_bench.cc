// The queues alone: the cost of a pop without waiting, and the throughput from one or more
// producers. The throughput includes the machine's wake-up time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/threaded/batch_queue.h"

namespace pipesim {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

std::unique_ptr<engine::threaded::BatchQueue> QueueOf(const benchmark::State& state,
                                                      std::int64_t capacity) {
  const auto kind = static_cast<spec::QueueKind>(state.range(0));
  return engine::threaded::MakeBatchQueue(kind, capacity);
}

const char* NameOf(std::int64_t kind) {
  const char* const names[] = {"tbb", "lockfree", "mutex"};
  return names[kind];
}

void EachKind(benchmark::internal::Benchmark* benchmark) {
  for (const auto kind :
       {spec::QueueKind::kTbb, spec::QueueKind::kLockfree, spec::QueueKind::kMutex})
    benchmark->Arg(static_cast<int>(kind));
}

/// One thread pushes and pops: the queue's own cost, without waiting.
void PassThroughAQueue(benchmark::State& state) {
  const auto queue = QueueOf(state, 8);
  int slot = 0;
  for (auto _ : state) {
    queue->TryPush(slot);
    queue->TryPop(slot);
  }
  state.SetLabel(NameOf(state.range(0)));
}
BENCHMARK(PassThroughAQueue)->ArgName("kind")->Apply(EachKind);

/// Percentiles of single pops, in ns, two clock reads included (their own median is `clock_ns`).
void PopFromAFilledQueue(benchmark::State& state) {
  constexpr int kFilled = 1024;
  const auto queue = QueueOf(state, kFilled);
  std::vector<double> pops_ns, clock_ns;
  const auto timed = [](std::vector<double>& into, auto&& action) {
    const auto begin = std::chrono::steady_clock::now();
    action();
    into.push_back(
        static_cast<double>(Nanoseconds(std::chrono::steady_clock::now() - begin).count()));
  };
  for (auto _ : state) {
    state.PauseTiming();
    for (int slot = 0; slot < kFilled; ++slot) queue->TryPush(slot);
    timed(clock_ns, [] {});
    state.ResumeTiming();
    int slot = 0;
    for (int i = 0; i < kFilled; ++i) timed(pops_ns, [&] { queue->Pop(slot); });
  }
  const auto percentile = [](std::vector<double>& values, double share) {
    const auto at = values.begin() +
                    static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
  };
  state.SetLabel(NameOf(state.range(0)));
  state.counters["p50_ns"] = percentile(pops_ns, 0.5);
  state.counters["p95_ns"] = percentile(pops_ns, 0.95);
  state.counters["p99_ns"] = percentile(pops_ns, 0.99);
  state.counters["clock_ns"] = percentile(clock_ns, 0.5);
}
BENCHMARK(PopFromAFilledQueue)->ArgName("kind")->Apply(EachKind)->Iterations(1000);

/// Items per second through a queue of 8 with one consumer, including waits and wake-ups.
void FromProducers(benchmark::State& state) {
  constexpr int kItems = 200'000;
  const auto producers = static_cast<int>(state.range(1));
  const auto queue = QueueOf(state, 8);
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (int producer = 0; producer < producers; ++producer) {
      threads.emplace_back([&] {
        for (int i = 0; i < kItems / producers; ++i) queue->Push(i);
      });
    }
    int slot = 0;
    for (int i = 0; i < kItems; ++i) queue->Pop(slot);
    for (std::thread& thread : threads) thread.join();
  }
  state.SetItemsProcessed(state.iterations() * kItems);
  state.SetLabel(NameOf(state.range(0)));
}
BENCHMARK(FromProducers)
    ->ArgNames({"kind", "producers"})
    ->ArgsProduct({{0, 1, 2}, {1, 4}})
    ->UseRealTime();

}  // namespace
}  // namespace pipesim
