// Deterministic stages: X = min(W / s, 1 / g) over whole cycles of W batches, to the nanosecond.
#include <cmath>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

struct RateCase {
  int workers;
  Duration batch, step;
};

class DeterministicStages : public testing::TestWithParam<RateCase> {};

TEST_P(DeterministicStages, RunAtTheRateOfTheSlowerStage) {
  const auto [workers, batch, step] = GetParam();
  const trace::RunTrace trace = Predict(Stages(workers, batch, step, 200 * workers + 1));
  // W batches in the time of the slower: max(s, W g). Filled after a few cycles.
  const auto& progress = trace.progress;
  const std::size_t first = static_cast<std::size_t>(50 * workers);
  const Duration cycle = std::max(batch, step * workers);
  for (std::size_t k = first; k + workers < progress.size(); ++k) {
    ASSERT_EQ(progress[k + static_cast<std::size_t>(workers)].at - progress[k].at, cycle) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(OfAllKinds, DeterministicStages,
                         testing::Values(RateCase{1, 1ms, 1ms}, RateCase{1, 5ms, 1ms}, RateCase{4, 4ms, 1ms},
                                         RateCase{4, 2ms, 2ms}, RateCase{8, 4ms, 1ms}, RateCase{4, 7ms, 1ms},
                                         RateCase{3, 10ms, 3ms}, RateCase{64, 64ms, 900us}));

TEST(Stages, WithoutWorkersLoadingOverlapsOnlyTheDevice) {
  const auto experiment = Stages(0, 3ms, 1ms, 101);
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.progress[100].at - trace.progress[0].at, 100 * 3ms);
}

TEST(Stages, AnIopsPaceCostsAWorkerNothingWhilePreparingIsSlower) {
  // Samples of 280 us are prepared four in a go; 4,231 IOPS are one read in 236 us.
  auto experiment = Stages(1, 280us, 0s, 4 * 100);
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.loader.batch_size = 32;
  experiment.dataset.samples = 32 * 400;
  const auto batch = [&](double iops) {
    experiment.storage.iops_per_s = iops;
    const auto progress = Predict(experiment).progress;
    return (progress[300].at - progress[100].at) / 200;
  };
  EXPECT_EQ(batch(4231), 32 * 280us);
  EXPECT_NEAR(base::ToSeconds(batch(2000)), 32 / 2000.0, 1e-5);
}

TEST(Stages, AWorkerWithSeveralThreadsWakesThemForEachBurn) {
  auto experiment = Stages(1, 1ms, 0s, 100);
  experiment.prepare.kind = spec::PrepareKind::kBurn;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.burn_handover = 70us;
  EXPECT_EQ(TotalIn(Predict(experiment, pipeline), Role::kWorker, State::kPrepare), 100 * 1ms);
  experiment.limits.worker_threads = 4;
  const trace::RunTrace trace = Predict(experiment, pipeline);
  EXPECT_EQ(TotalIn(trace, Role::kWorker, State::kPrepare), 100 * 250us);
  EXPECT_EQ(TotalIn(trace, Role::kWorker, State::kContended), 100 * 70us);
  EXPECT_EQ(trace.end - trace.begin, 100 * 320us);
}

TEST(Stages, AStepOfTheCpuTakesLongerAfterAPause) {
  auto experiment = Stages(0, 6ms, 0s, 101);
  experiment.device.kind = spec::DeviceKind::kCpu;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.step = CpuStep(2ms);
  pipeline.step.after_pauses = {{4ms, 1ms}, {8ms, 3ms}};
  const auto each = [&] {
    const trace::RunTrace trace = Predict(experiment, pipeline);
    return (trace.progress[100].at - trace.progress[0].at) / 100;
  };
  EXPECT_EQ(each(), 6ms + 2ms + 2ms);
  experiment.loader.workers = 3;  // a batch every 2 ms: the step itself sets the pace, without a pause
  EXPECT_EQ(each(), 2ms);
}

TEST(Stages, ReadingEveryResultBackRemovesTheOverlap) {
  auto experiment = Stages(0, 3ms, 1ms, 101);
  experiment.training.sync_every = 1;
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.progress[100].at - trace.progress[0].at, 100 * 4ms);
}

TEST(Stages, AReadBackTakesItsOwnTimeOnceTheStepIsDone) {
  auto experiment = Stages(0, 3ms, 1ms, 101);
  experiment.training.sync_every = 4;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.host.read_back = 500us;
  const trace::RunTrace trace = Predict(experiment, pipeline);
  // Of four batches one waits for its step of 1 ms and for the read-back.
  EXPECT_EQ(trace.progress[100].at - trace.progress[0].at, 25 * (4 * 3ms + 1500us));
  EXPECT_EQ(TotalIn(trace, Role::kConsumer, State::kSync), 25 * 1500us);
}

TEST(Cache, HitRateMatchesTheClosedForm) {
  // lru over a fresh shuffle each epoch: c + (1 - c) ln(1 - c); a hit's copy is work of the worker.
  auto experiment = Stages(2, 0ms, 100us, 0);
  experiment.dataset.samples = 4000;
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(1ms);
  experiment.storage.cache = {.policy = spec::CachePolicy::kLru,
                              .size = Bytes{64 * 2000},
                              .hit_bandwidth = base::BytesPerSecond{64e6}};
  experiment.run.steps.reset();
  experiment.run.epochs = 6;
  const trace::RunTrace trace = Predict(experiment);
  double hits = 0, reads = 0;
  for (std::size_t epoch = 1; epoch < trace.epochs.size(); ++epoch) {
    hits += static_cast<double>(trace.epochs[epoch].cache_hits);
    reads += static_cast<double>(trace.epochs[epoch].reads);
  }
  EXPECT_EQ(hits + reads, 5 * 4000);
  EXPECT_NEAR(hits / (hits + reads), 0.5 + 0.5 * std::log(0.5), 0.015);
  EXPECT_EQ(TotalIn(trace, Role::kWorker, State::kRead),
            1ms * static_cast<int>(reads + 4000) + 1us * static_cast<int>(hits));
}

TEST(Stages, AreMeasuredLikeAnyRun) {
  const auto experiment = Stages(4, 8ms, 1ms, 401);
  const auto measured = measure::Measure(Predict(experiment), experiment, cost::Stated(experiment));
  ASSERT_TRUE(measured.result.samples_per_s.has_value());
  EXPECT_DOUBLE_EQ(*measured.result.samples_per_s, 4 / 0.008);
  EXPECT_EQ(measured.consumer.other_s, 0);
  EXPECT_EQ(measured.workers.other_s, 0);
  ASSERT_TRUE(measured.device.has_value());
  EXPECT_EQ(measured.device->other_s, 0);
  EXPECT_NEAR(measured.device->busy_s / measured.device->wall_s, 0.5, 1e-9);
}

}  // namespace
}  // namespace pipesim::engine
