// Speed of virtual time: whole runs with the real trace, as in a prediction. An event is the end of
// a thread's own wait (a read, a preparation, a step), one entry of a simulator's event list.
// Handing a batch to another thread at the same instant is not an event.
#include <benchmark/benchmark.h>

#include <chrono>

#include "base/memory.h"
#include "engine/virtual_time/virtual_executor.h"

namespace pipesim {
namespace {

using namespace std::chrono_literals;

base::Drawn<base::Duration> Cost(base::DistributionKind kind, base::Duration mean) {
  const auto ns = static_cast<double>(mean.count());
  return {{.kind = kind, .mean = ns, .stdev = ns / 2, .values = {}}};
}

/// Enough workers, reading and preparing sample by sample, to keep the device busy.
spec::Experiment Pipeline(int workers, std::int64_t batch, std::int64_t steps) {
  spec::Experiment experiment;
  experiment.dataset = {.samples = 1'281'167,
                        .sample_bytes = {base::Distribution::Fixed(110'000)},
                        .shape = {3, 224, 224},
                        .dtype = spec::DType::kUint8,
                        .classes = 1000};
  experiment.loader.batch_size = batch;
  experiment.loader.workers = workers;
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Cost(base::DistributionKind::kFixed, 500us);
  experiment.prepare = {.kind = spec::PrepareKind::kBurn,
                        .cost = Cost(base::DistributionKind::kFixed, 1500us)};
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.device.step_base = Cost(base::DistributionKind::kFixed, 2ms * batch / workers);
  experiment.run.steps = steps;
  return experiment;
}

void Run(const spec::Experiment& experiment, benchmark::State& state) {
  base::KeepFreedMemory();  // as `predict` does
  const auto executor = engine::MakeVirtualExecutor();
  const cost::Pipeline pipeline = cost::Stated(experiment);
  for (auto _ : state) {
    benchmark::DoNotOptimize(executor->Run(experiment, pipeline, {}).steps);
  }
}

/// Constant costs, one sample per chunk: 2 events per sample, and 1 per step.
/// items_per_second: events.
void EventsOfConstantCosts(benchmark::State& state) {
  constexpr std::int64_t kBatch = 16, kSteps = 20'000;
  const auto experiment = Pipeline(static_cast<int>(state.range(0)), kBatch, kSteps);
  Run(experiment, state);
  state.SetItemsProcessed(state.iterations() * kSteps * (2 * kBatch + 1));
}
BENCHMARK(EventsOfConstantCosts)
    ->ArgName("workers")
    ->Arg(4)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

/// One chunk per batch: 2 events per batch, and 1 per step; the rest is recording.
void EventsOfWholeBatches(benchmark::State& state) {
  constexpr std::int64_t kSteps = 100'000;
  const auto experiment = Pipeline(static_cast<int>(state.range(0)), 1, kSteps);
  Run(experiment, state);
  state.SetItemsProcessed(state.iterations() * kSteps * 3);
}
BENCHMARK(EventsOfWholeBatches)->ArgName("workers")->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);

/// The closed queue that the simulators in tests/bench/peers/des run: 64 workers
/// of 64 ms, a window of 128 batches, a step of 1 ms, batches in order. Items: batches.
void ClosedQueue(benchmark::State& state) {
  constexpr std::int64_t kSteps = 100'000;
  auto experiment = Pipeline(64, 1, kSteps);
  experiment.storage = {};
  experiment.loader.shuffle = false;
  experiment.prepare = {.kind = spec::PrepareKind::kWait,
                        .cost = Cost(base::DistributionKind::kFixed, 64ms)};
  experiment.device.step_base = Cost(base::DistributionKind::kFixed, 1ms);
  experiment.training.sync_every = 1;
  Run(experiment, state);
  state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(ClosedQueue)->Unit(benchmark::kMillisecond);

/// A configuration of a sweep: 10,000 batches of 256 samples with constant costs. Items: batches.
void BatchesOfConstantCosts(benchmark::State& state) {
  constexpr std::int64_t kSteps = 10'000;
  auto experiment = Pipeline(static_cast<int>(state.range(0)), 256, kSteps);
  // One chunk per batch, as for samples that take microseconds.
  experiment.storage.latency = Cost(base::DistributionKind::kFixed, 1us);
  experiment.prepare.cost = Cost(base::DistributionKind::kFixed, 2us);
  experiment.device.step_base = Cost(base::DistributionKind::kFixed, 200us);
  Run(experiment, state);
  state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(BatchesOfConstantCosts)
    ->ArgName("workers")
    ->Arg(4)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

/// The same over a thousand million batches: nearly all is skipped. What is left is the time to look
/// which steps the reservoirs keep.
void LongRunOfConstantCosts(benchmark::State& state) {
  constexpr std::int64_t kSteps = 1'000'000'000;
  auto experiment = Pipeline(4, 256, kSteps);
  experiment.storage.latency = Cost(base::DistributionKind::kFixed, 1us);
  experiment.prepare.cost = Cost(base::DistributionKind::kFixed, 2us);
  experiment.device.step_base = Cost(base::DistributionKind::kFixed, 200us);
  Run(experiment, state);
  state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(LongRunOfConstantCosts)->Unit(benchmark::kMillisecond);

/// The same with a lognormal cost for each of the 256 samples, shuffled. Items: batches.
void BatchesOfDrawnCosts(benchmark::State& state) {
  constexpr std::int64_t kSteps = 10'000;
  auto experiment = Pipeline(8, 256, kSteps);
  experiment.dataset.samples = state.range(0);
  experiment.storage = {};
  experiment.prepare.cost = Cost(base::DistributionKind::kLognormal, 2us);
  experiment.device.step_base = Cost(base::DistributionKind::kFixed, 200us);
  Run(experiment, state);
  state.SetItemsProcessed(state.iterations() * kSteps);
}
BENCHMARK(BatchesOfDrawnCosts)
    ->ArgName("samples")
    ->Arg(60'000)
    ->Arg(1'281'167)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipesim
