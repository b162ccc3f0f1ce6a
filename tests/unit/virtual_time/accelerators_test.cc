// Several accelerators on one host: own resources multiply, shared ones are divided.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

constexpr std::int64_t kSteps = 401;

measure::Measurement Measured(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  return measure::Measure(Predict(experiment, pipeline), experiment, pipeline);
}
measure::Measurement Measured(const spec::Experiment& experiment) {
  return Measured(experiment, cost::Stated(experiment));
}

spec::Experiment On(int accelerators, spec::Experiment experiment) {
  experiment.run.accelerators = accelerators;
  return experiment;
}

std::vector<Duration> Ends(const std::vector<trace::Checkpoint>& progress) {
  std::vector<Duration> ends;
  for (const trace::Checkpoint& mark : progress) ends.push_back(mark.at.time_since_epoch());
  return ends;
}

/// One worker, reads of 0.8 ms per batch, storage for 1250 batches/s in total, steps of 2 ms: 500/s
/// alone.
spec::Experiment OnOneStorage() {
  auto experiment = Stages(2, 0s, 2ms, kSteps);
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(1000)};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.bandwidth = base::BytesPerSecond{1.25e6};
  return experiment;
}

TEST(Accelerators, WithAmpleResourcesScaleLinearly) {
  const auto one = Stages(4, 8ms, 1ms, kSteps);
  const trace::RunTrace alone = Predict(one);
  const double rate = *measure::Measure(alone, one, cost::Stated(one)).result.samples_per_s;
  EXPECT_DOUBLE_EQ(rate, 4 / 0.008);
  for (const int accelerators : {2, 3, 8}) {
    const trace::RunTrace trace = Predict(On(accelerators, one));
    EXPECT_EQ(Ends(trace.progress), Ends(alone.progress)) << accelerators;
    ASSERT_EQ(trace.others.size(), static_cast<std::size_t>(accelerators - 1));
    const auto result = measure::Measure(trace, On(accelerators, one), cost::Stated(one)).result;
    EXPECT_NEAR(*result.samples_per_s, accelerators * rate, 1e-9 * rate);
    EXPECT_DOUBLE_EQ(*result.samples_per_s_each, rate);
    EXPECT_EQ(result.accelerators, accelerators);
  }
}

class SharedStorage : public testing::TestWithParam<int> {};

TEST_P(SharedStorage, LimitsTheTotalRate) {
  const auto measured = Measured(On(GetParam(), OnOneStorage()));
  const double total = std::min(GetParam() * 500.0, 1250.0);  // min(N / step, bandwidth / bytes)
  EXPECT_NEAR(*measured.result.samples_per_s, total, 0.005 * total);
  EXPECT_NEAR(*measured.result.samples_per_s_each, total / GetParam(), 0.01 * total / GetParam());
  EXPECT_NEAR(measured.resources.storage_bytes_per_s, 1000 * total, 0.02 * 1000 * total);
}

INSTANTIATE_TEST_SUITE_P(Accelerators, SharedStorage, testing::Values(1, 2, 3, 8));

class SharedCores : public testing::TestWithParam<int> {};

TEST_P(SharedCores, LimitTheTotalRate) {
  // 4 workers each that burn 6 ms a batch, on 6 cores: 666.7/s alone, 1000/s at most.
  auto experiment = On(GetParam(), Stages(4, 6ms, 0s, 4 * kSteps));
  experiment.prepare.kind = spec::PrepareKind::kBurn;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.cores = 6;
  const auto measured = Measured(experiment, pipeline);
  const double total = std::min(GetParam() * 4 / 0.006, 6 / 0.006);
  EXPECT_NEAR(*measured.result.samples_per_s, total, 0.005 * total);
  EXPECT_NEAR(*measured.resources.cores_used, total * 0.006, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Accelerators, SharedCores, testing::Values(1, 2, 5));

TEST(Accelerators, ShareTheCoresWhenTrainingOnTheCpu) {
  // Steps of 10 ms of one thread and no loading: one core each, 3 for 4 of them.
  auto experiment = On(4, Stages(1, 0s, 0s, kSteps));
  experiment.device.kind = spec::DeviceKind::kCpu;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.cores = 3;
  pipeline.step = CpuStep(10ms);
  const auto measured = Measured(experiment, pipeline);
  EXPECT_NEAR(*measured.result.samples_per_s, 3 / 0.010, 1);
  EXPECT_NEAR(*measured.demands.step_cpu_s, 0.010, 1e-4);  // of its own, not of all four
}

TEST(Accelerators, PartitionTheFirstOnesTimeCompletely) {
  auto experiment = On(4, OnOneStorage());
  experiment.storage.latency = Exponential(500us);
  experiment.loader.pin_memory = true;
  const auto measured = Measured(experiment);
  EXPECT_EQ(measured.consumer.other_s, 0);
  EXPECT_EQ(measured.workers.other_s, 0);
  EXPECT_EQ(measured.device->other_s, 0);
  EXPECT_EQ(measured.pin->other_s, 0);
  EXPECT_EQ(measured.workers.count, 2);
  EXPECT_NEAR(measured.workers.wall_s, 2 * measured.result.measured_s, 1e-9);
  // Little: batches being read are the first one's rate times its mean read.
  const trace::RunTrace trace = Predict(experiment);
  const auto& reads = trace.series[static_cast<std::size_t>(trace::Series::kReadTime)].kept;
  double stay_s = 0;
  for (const auto& read : reads) stay_s += read.value * 1e-9 / static_cast<double>(reads.size());
  const double wall_s = base::ToSeconds(trace.end - trace.begin);
  const double inside = base::ToSeconds(TotalIn(trace, Role::kWorker, State::kRead)) / wall_s;
  EXPECT_NEAR(inside, static_cast<double>(trace.steps) / wall_s * stay_s, 0.02 * inside);
}

TEST(Accelerators, ReadEachSampleOncePerEpochTogether) {
  // 7 x 143 = 1001 positions for 1000 samples. A cache of the whole data set serves the repeated
  // one.
  auto experiment = On(7, Stages(2, 0s, 1ms, 0));
  experiment.dataset.samples = 1000;
  experiment.loader.batch_size = 10;
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(10us);
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  experiment.storage.cache.size = Bytes{64 * 1000};
  experiment.run.steps.reset();
  experiment.run.epochs = 1;
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.samples, 143);
  EXPECT_EQ(trace.steps, 15);
  EXPECT_EQ(trace.resources.back().storage_reads, 1000);
}

TEST(Accelerators, DrawTheirOwnSteps) {
  auto experiment = On(2, Stages(2, 100us, 0s, kSteps));
  experiment.device.step_base = Exponential(1ms);
  const trace::RunTrace trace = Predict(experiment);
  ASSERT_EQ(trace.others.size(), 1u);
  EXPECT_NE(Ends(trace.others[0].kept), Ends(trace.progress));
  const double total = *measure::Measure(trace, experiment, cost::Stated(experiment)).result.samples_per_s;
  EXPECT_NEAR(total, 2000, 4 * 2000 / std::sqrt(2 * kSteps));  // four standard errors
}

TEST(Accelerators, RunUntilTheFirstReachesItsLimit) {
  auto experiment = On(3, Stages(2, 1ms, 0s, 100));
  experiment.device.step_base = Exponential(1ms);
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.end_reason, EndReason::kSteps);
  EXPECT_EQ(trace.steps, 100);
  for (const trace::Progress& other : trace.others) {
    // The last one was at most a step of some ms ago.
    EXPECT_GT(other.kept.back().at, trace.end - 20ms);
  }
}

TEST(Accelerators, StepsOfZeroTimeDoNotBlockTheClockWhileTheFirstStartsUp) {
  auto experiment = On(2, Stages(1, 0s, 0s, 0));
  experiment.loader.worker_startup = Exponential(3ms);
  experiment.loader.persistent_workers = true;
  experiment.dataset.samples = 2;  // an epoch of one batch each
  experiment.run.steps.reset();
  experiment.run.epochs = 1;
  for (experiment.run.seed = 1; experiment.run.seed <= 8; ++experiment.run.seed) {
    const trace::RunTrace trace = Predict(experiment);
    EXPECT_EQ(trace.end_reason, EndReason::kEpochs) << trace.failure;
    EXPECT_EQ(trace.steps, 1);
  }
}

TEST(Accelerators, CachedSamplesDoNotBlockTheClockWhileTheFirstReads) {
  auto experiment = On(2, Stages(1, 0s, 0s, 0));
  experiment.loader.shuffle = false;  // each epoch the same samples
  experiment.dataset.samples = 20;
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Exponential(1ms);
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  experiment.storage.cache.size = base::Bytes{1 << 20};
  experiment.run.steps.reset();
  experiment.run.epochs = 3;
  for (experiment.run.seed = 1; experiment.run.seed <= 8; ++experiment.run.seed) {
    const trace::RunTrace trace = Predict(experiment);
    EXPECT_EQ(trace.end_reason, EndReason::kEpochs) << trace.failure;
    EXPECT_EQ(trace.steps, 3 * 10);
  }
}

TEST(Accelerators, ATimeoutEndsTheRunAndNamesTheWaitingAccelerator) {
  auto experiment = On(2, Stages(2, 50ms, 1ms, kSteps));
  experiment.loader.timeout = 20ms;
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.end_reason, EndReason::kFailed);
  EXPECT_THAT(trace.failure, testing::HasSubstr("worker 0 has it, accelerator 0"));
}

}  // namespace
}  // namespace pipesim::engine
