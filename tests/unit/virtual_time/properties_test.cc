// What holds for every experiment: it ends, every batch comes once and in the promised order, every
// nanosecond of every thread has one owner, and the same seed gives the same run.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "pipeline.h"
#include "print_trace.h"

namespace pipesim::engine {
namespace {

struct Drawn {
  spec::Experiment experiment;
  cost::Pipeline pipeline;
};

Drawn AnyExperiment() {
  const auto in = [](std::int64_t low, std::int64_t high) {
    return *rc::gen::inRange(low, high + 1);
  };
  const auto yes = [] { return *rc::gen::arbitrary<bool>(); };
  const auto workers = static_cast<int>(in(0, 5));
  Drawn drawn;
  auto& e = drawn.experiment = Stages(workers, 0s, 0s, 0);
  e.dataset.samples = in(1, 60);
  e.loader.batch_size = in(1, std::min<std::int64_t>(5, e.dataset.samples));
  e.loader.shuffle = yes();
  e.loader.drop_last = yes();
  e.loader.in_order = yes();
  e.loader.pin_memory = yes();
  if (workers > 0) {
    e.loader.prefetch_factor = static_cast<int>(in(1, 4));
    e.loader.dispatch = yes() ? spec::Dispatch::kShared : spec::Dispatch::kRoundRobin;
    if (yes()) e.loader.queue_capacity = in(1, e.loader.Window());
    e.loader.persistent_workers = yes();
    if (yes()) e.loader.worker_startup = Exponential(3ms);
  }
  e.prepare.kind = yes() ? spec::PrepareKind::kBurn : spec::PrepareKind::kWait;
  if (yes()) e.prepare.cost = Exponential(500us);
  e.limits.worker_threads = static_cast<int>(in(1, 3));
  if (yes()) {
    e.storage.kind = spec::StorageKind::kEmulated;
    e.storage.latency = Exponential(400us);
    if (yes()) e.storage.bandwidth = base::BytesPerSecond{200'000};
    if (yes()) e.storage.queue_depth = static_cast<int>(in(1, 3));
  }
  if (yes()) e.device.step_base = Exponential(700us);
  e.device.in_flight = static_cast<int>(in(1, 3));
  e.training.sync_every = in(0, 3);
  e.run.steps.reset();
  e.run.epochs = in(1, 3);
  e.run.seed = static_cast<std::uint64_t>(in(1, 1000));
  e.run.accelerators = static_cast<int>(in(1, 3));

  auto& pipeline = drawn.pipeline = cost::Stated(e);
  auto& machine = pipeline.machine;
  if (yes()) machine.cores = static_cast<double>(in(2, 6)) / 2;
  if (yes()) machine.wake_up = 20us;
  if (yes()) machine.burn_handover = 40us;
  if (yes()) machine.worker_startup = 1ms;
  if (yes()) pipeline.host.step = 50us;
  if (yes()) pipeline.collate.batch = 30us;
  if (yes()) pipeline.collate.bandwidth = base::BytesPerSecond{1e6};
  if (yes()) pipeline.pin.bandwidth = base::BytesPerSecond{1e6};
  if (yes()) {
    pipeline.hand_over = {.processes = true,
                          .share = {.batch = Exponential(100us), .bandwidth = {}},
                          .send = {.batch = Exponential(200us), .bandwidth = {}},
                          .serve = {.batch = Exponential(100us), .bandwidth = {}},
                          .receive = {.batch = Exponential(200us), .bandwidth = {}},
                          .receive_latency = Exponential(100us),
                          .receive_wait = Exponential(100us),
                          .launch = 500us,
                          .startup = Exponential(2ms)};
  }
  if (yes()) pipeline.prepare.wait = Exponential(300us);
  if (yes()) pipeline.collate.varying = Exponential(50us);
  if (yes()) machine.pool_spin = 300us;
  if (yes()) machine.barrier_slice = 100us;
  if (yes()) machine.memory = cost::SharedMemory{.alone = {1e6}, .together = {1.5e6}, .threads = 2};
  if (yes()) pipeline.prepare.memory_bytes_per_s = 1e6;
  if (yes()) {
    e.device.kind = spec::DeviceKind::kCpu;
    pipeline.step = CpuStep(0s, static_cast<int>(in(1, 3)));
    std::get<cost::StatedStep>(pipeline.step.cost).per_sample = Fixed(200us);
  }
  return drawn;
}

RC_GTEST_PROP(EveryRun, EndsWithEveryBatchOnceAndInThePromisedOrder, ()) {
  const Drawn drawn = AnyExperiment();
  const spec::Experiment& e = drawn.experiment;
  const std::int64_t batches = spec::BatchesPerEpoch(e);
  RC_PRE(batches > 0);
  const trace::RunTrace trace = Predict(e, drawn.pipeline, WithSpans());
  RC_ASSERT(trace.end_reason == EndReason::kEpochs);
  RC_ASSERT(trace.steps == batches * *e.run.epochs);
  const auto& waits = trace.series[static_cast<std::size_t>(trace::Series::kCollateTime)].kept;
  std::set<std::int64_t> made;
  for (const auto& record : waits) made.insert(record.key);
  RC_ASSERT(made.size() == waits.size());
  RC_ASSERT(static_cast<std::int64_t>(made.size()) == trace.steps);
  std::int64_t samples = 0;
  for (const auto& epoch : trace.epochs) samples += epoch.samples;
  RC_ASSERT(samples == *e.run.epochs * (e.loader.drop_last ? batches * e.loader.batch_size
                                                           : spec::SamplesPerEpoch(e)));
  // In the order of what the device, or the consumer that computes, worked on.
  std::vector<std::int64_t> trained;
  const bool cpu = e.device.kind == spec::DeviceKind::kCpu;
  for (const trace::Span& span : trace.first_spans) {
    const bool steps = cpu ? span.role == Role::kConsumer && span.state == State::kCompute
                           : span.role == Role::kDevice && span.state == State::kBusy;
    if (steps) trained.push_back(span.batch);
  }
  if (!cpu && !e.device.step_base->IsZero()) {
    RC_ASSERT(std::set(trained.begin(), trained.end()).size() == trained.size());
  }
  if (e.loader.in_order || e.loader.workers == 0) {
    RC_ASSERT(std::is_sorted(trained.begin(), trained.end()));
  }
}

RC_GTEST_PROP(EveryRun, GivesEachNanosecondOfEachThreadToOneState, ()) {
  const Drawn drawn = AnyExperiment();
  RC_PRE(spec::BatchesPerEpoch(drawn.experiment) > 0);
  const trace::RunTrace trace = Predict(drawn.experiment, drawn.pipeline);
  if (trace.end == trace.begin) return;
  int workers = 0;
  for (const trace::ThreadTotals& thread : trace.threads) {
    workers += thread.role == Role::kWorker ? 1 : 0;
    Duration owned{};
    for (std::size_t state = 0; state < trace::kStateCount; ++state) {
      for (const Duration time : TimesPerBucket(trace, thread, static_cast<State>(state)))
        owned += time;
    }
    RC_ASSERT(owned.count() == (trace.end - trace.begin).count());
  }
  RC_ASSERT(workers == drawn.experiment.loader.workers);
}

RC_GTEST_PROP(EveryRun, IsTheSameForItsSeed, ()) {
  const Drawn drawn = AnyExperiment();
  RC_PRE(spec::BatchesPerEpoch(drawn.experiment) > 0);
  RC_ASSERT(Print(Predict(drawn.experiment, drawn.pipeline, WithSpans())) ==
            Print(Predict(drawn.experiment, drawn.pipeline, WithSpans())));
}

}  // namespace
}  // namespace pipesim::engine
