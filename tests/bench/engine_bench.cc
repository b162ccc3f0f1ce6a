// What the instrument itself costs: a span, a batch's records, a draw, a request to the storage.
// Read them against each other and against a batch's own time; absolute figures belong to a
// machine.
#include <benchmark/benchmark.h>

#include <chrono>

#include "base/random.h"
#include "cost/storage.h"
#include "engine/threaded/span_rings.h"
#include "engine/threaded/thread_timer.h"
#include "engine/threaded/threaded_executor.h"
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

void RequestFromTheStorage(benchmark::State& state) {
  cost::Storage disk;
  disk.present = true;
  disk.bandwidth = base::BytesPerSecond{550e6};
  disk.iops_per_s = 98'000;
  disk.queue_depth = 32;
  cost::StorageServer server(disk);
  base::Instant at{};
  for (auto _ : state)
    at = server.Serve({.at = at, .reads = 1, .bytes = base::Bytes{112'640}, .latency = 100us});
}
BENCHMARK(RequestFromTheStorage);

/// What one batch is recorded with: counted in a real run of 500 batches.
struct RecordsOfABatch {
  double spans = 0, cpu_spans = 0;  ///< the latter with readings of the thread's CPU time
};

RecordsOfABatch CountRecords() {
  constexpr std::int64_t kBatches = 500;
  spec::Experiment experiment;
  const base::Drawn<base::Duration> short_time{base::Distribution::Fixed(1000)};
  experiment.dataset = {.samples = 1 << 16,
                        .sample_bytes = {base::Distribution::Fixed(1000)},
                        .shape = {64},
                        .dtype = spec::DType::kUint8,
                        .classes = 10};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = short_time;
  experiment.prepare = {spec::PrepareKind::kBurn, short_time};
  experiment.loader.workers = 2;
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.device.step_base = base::Drawn<base::Duration>{base::Distribution::Fixed(1e6)};
  experiment.run.steps = kBatches;
  const cost::Pipeline pipeline = cost::Stated(experiment);
  const base::SystemClock clock;
  const auto memory = engine::MakeHostMemory();
  const auto trainer = engine::MakeEmulatedTrainer(experiment, pipeline, clock);
  engine::RunControl control;
  control.keep_spans = true;
  const trace::RunTrace run =
      engine::MakeThreadedExecutor(
          {.clock = &clock, .trainer = trainer.get(), .memory = memory.get()})
          ->Run(experiment, pipeline, control);
  RecordsOfABatch records;
  for (const trace::Span& span : run.first_spans) {
    const bool on_cpu =
        span.state == trace::State::kPrepare || span.state == trace::State::kCollate;
    (on_cpu ? records.cpu_spans : records.spans) += 1.0 / kBatches;
  }
  return records;
}

/// All that is recorded of one batch (a step of 1 ms behind two workers that read and burn), from
/// the clock reads to the trace: its CPU time over 1 ms is the instrument's share of such a batch.
void RecordABatch(benchmark::State& state) {
  const RecordsOfABatch records = CountRecords();
  const base::SystemClock clock;
  trace::TraceBuilder builder(clock.Now(), 1);
  engine::threaded::SpanRings rings(builder, 2);
  engine::threaded::ThreadTimer timer(clock, rings.ring(1), trace::Role::kWorker, 0,
                                      trace::State::kRead, clock.Now());
  double spans = 0, cpu_spans = 0;
  trace::BatchRecord batch;
  trace::StepRecord step;
  const base::Duration before = base::ThreadCpuTime();
  for (auto _ : state) {
    timer.SetBatch(batch.batch, 64);
    for (spans += records.spans; spans >= 1; --spans) timer.Enter(trace::State::kRead);
    for (cpu_spans += records.cpu_spans; cpu_spans >= 1; --cpu_spans)
      timer.EnterCpu(trace::State::kPrepare);
    rings.ring(1).Record(batch);
    step.taken = step.done = timer.begun();
    rings.ring(0).Record(step);
    ++batch.batch, ++step.batch, ++step.step;
  }
  const double spent_s = base::ToSeconds(base::ThreadCpuTime() - before);
  state.counters["spans"] = records.spans + records.cpu_spans;
  state.counters["share_of_1ms"] = spent_s / static_cast<double>(state.iterations()) / 1e-3;
}
BENCHMARK(RecordABatch);

}  // namespace
}  // namespace pipesim
