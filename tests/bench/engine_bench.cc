// What the instrument itself costs: a span, a draw, an ask of the storage, a batch through a queue.
// Read them against each other and against a batch's own time; absolute figures belong to a
// machine.
#include <benchmark/benchmark.h>

#include <chrono>

#include "base/random.h"
#include "cost/storage.h"
#include "engine/threaded/batch_queue.h"
#include "trace/builder.h"

namespace pipesim {
namespace {

using namespace std::chrono_literals;

void RecordASpan(benchmark::State& state) {
  trace::TraceBuilder builder(base::Instant{}, 1);
  trace::Span span{.begin = base::Instant{}, .end = base::Instant{} + 10us, .contended = {}};
  for (auto _ : state) {
    builder.Record(span);
    span.begin = span.end;
    span.end += 10us;
    ++span.batch;
  }
}
BENCHMARK(RecordASpan);

void DrawALognormal(benchmark::State& state) {
  const base::Distribution cost{
      .kind = base::DistributionKind::kLognormal, .mean = 2e6, .stdev = 1e6, .values = {}};
  std::uint64_t sample = 0;
  for (auto _ : state) {
    base::KeyedStream stream(1, base::Stage::kPrepare, ++sample);
    benchmark::DoNotOptimize(base::Draw(cost, stream));
  }
}
BENCHMARK(DrawALognormal);

void FindTheSampleAtAPosition(benchmark::State& state) {
  const base::Shuffle shuffle(1, 0, 1'281'167);
  std::uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shuffle(position));
    position = (position + 1) % 1'281'167;
  }
}
BENCHMARK(FindTheSampleAtAPosition);

void AskTheStorage(benchmark::State& state) {
  spec::Storage disk;
  disk.kind = spec::StorageKind::kEmulated;
  disk.bandwidth = base::BytesPerSecond{550e6};
  disk.iops_per_s = 98'000;
  disk.queue_depth = 32;
  cost::StorageModel model(disk);
  base::Instant at{};
  for (auto _ : state)
    at = model.Ask({.at = at, .reads = 1, .bytes = base::Bytes{112'640}, .latency = 100us});
}
BENCHMARK(AskTheStorage);

/// One thread puts in and takes out: the queue's own cost, no waiting. Arg: spec::QueueKind.
void PassThroughAQueue(benchmark::State& state) {
  const auto queue = engine::MakeBatchQueue(static_cast<spec::QueueKind>(state.range(0)), 8);
  int slot = 0;
  for (auto _ : state) {
    queue->TryPush(slot);
    queue->TryPop(slot);
  }
}
BENCHMARK(PassThroughAQueue)
    ->ArgName("kind")  // 0 tbb, 1 lockfree, 2 mutex
    ->Arg(static_cast<int>(spec::QueueKind::kTbb))
    ->Arg(static_cast<int>(spec::QueueKind::kLockfree))
    ->Arg(static_cast<int>(spec::QueueKind::kMutex));

}  // namespace
}  // namespace pipesim
