// Accelerators that meet after every step (run.barrier), reads that share the bandwidth
// (storage.sharing: fair), and the score that MLPerf Storage gives both.
#include <gmock/gmock.h>

#include <cmath>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

spec::Experiment Meeting(int accelerators, spec::Experiment experiment) {
  experiment.run.accelerators = accelerators;
  experiment.run.barrier = true;
  return experiment;
}

/// Whole epochs of `steps` steps of each of `accelerators`.
spec::Experiment Epochs(int epochs, int accelerators, std::int64_t steps,
                        spec::Experiment experiment) {
  experiment.dataset.samples = accelerators * steps;
  experiment.run.steps.reset();
  experiment.run.epochs = epochs;
  return Meeting(accelerators, experiment);
}

/// Workers that read samples of 1000 bytes at `bytes_per_s`, shared as `sharing` says.
spec::Experiment Reading(int workers, double bytes_per_s, spec::StorageSharing sharing) {
  spec::Experiment experiment = Stages(workers, 0s, 1ms, 0);
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(1000)};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.bandwidth = base::BytesPerSecond{bytes_per_s};
  experiment.storage.sharing = sharing;
  return experiment;
}

measure::Result ResultOf(const spec::Experiment& experiment) {
  return measure::Measure(Predict(experiment), experiment, cost::Stated(experiment)).result;
}

TEST(Meeting, EveryStepTakesAsLongAsTheSlowestOne) {
  auto experiment = Stages(2, 0s, 0s, 20'000);
  experiment.device.step_base = Exponential(1ms);
  const auto result = ResultOf(Meeting(4, experiment));
  // The maximum of 4 exponential times has the mean 1 + 1/2 + 1/3 + 1/4 of theirs.
  EXPECT_NEAR(*result.samples_per_s, 4 * 1000 / (25.0 / 12), 0.02 * 4 * 480);
}

TEST(Meeting, AllAcceleratorsEndEveryStepTogether) {
  auto experiment = Stages(2, 0s, 0s, 200);
  experiment.device.step_base = Exponential(1ms);
  const trace::RunTrace trace = Predict(Meeting(3, experiment));
  ASSERT_EQ(trace.others.size(), 2u);
  for (const trace::Progress& other : trace.others) {
    for (std::size_t step = 0; step + 1 < trace.progress.size(); ++step)
      ASSERT_EQ(other.kept.at(step).at, trace.progress[step].at) << step;
  }
}

TEST(Meeting, OnTheCpuWaitsForTheSlowestToo) {
  auto experiment = Meeting(3, Stages(0, 1ms, 0s, 50));
  experiment.device.kind = spec::DeviceKind::kCpu;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.step = CpuStep(4ms);
  const auto measured = measure::Measure(Predict(experiment, pipeline), experiment, pipeline);
  EXPECT_NEAR(*measured.result.samples_per_s, 3 / 0.005, 1);
  EXPECT_EQ(measured.consumer.other_s, 0);
}

TEST(Meeting, ScoresWithoutTheFirstStepAndItsLoading) {
  // Without workers each of 10 steps loads for 3 ms and computes for 1: AU = 9 x 1 / (9 x 4).
  const auto result = ResultOf(Epochs(2, 3, 10, Stages(0, 3ms, 1ms, 0)));
  ASSERT_TRUE(result.meeting);
  EXPECT_EQ(result.meeting->epochs, 2);
  EXPECT_NEAR(result.meeting->au, 0.25, 1e-9);
  EXPECT_NEAR(result.meeting->samples_per_s, 3 / 0.004, 1e-6);
  EXPECT_NEAR(result.meeting->first_step_s, 0.004, 1e-9);
}

TEST(Meeting, ComputeBoundScoresOne) {
  // 8 workers make a batch every 0.5 ms for steps of 1 ms.
  const auto result = ResultOf(Epochs(3, 2, 500, Stages(8, 4ms, 1ms, 0)));
  ASSERT_TRUE(result.meeting);
  EXPECT_NEAR(result.meeting->au, 1, 1e-9);
  // The first batch comes after 4 ms: 500 steps in 4 + 500 ms.
  EXPECT_NEAR(result.meeting->samples_per_s, 2 * 500 / 0.504, 1);
}

TEST(Meeting, StorageBoundScoresTheStoragesShare) {
  // 4 accelerators read 1000 bytes each a step at 2 MB/s: 2 ms, of which they compute 1.
  for (const auto sharing : {spec::StorageSharing::kFifo, spec::StorageSharing::kFair}) {
    auto experiment = Epochs(1, 4, 2000, Reading(1, 2e6, sharing));
    experiment.loader.prefetch_factor = 1;
    const auto result = ResultOf(experiment);
    ASSERT_TRUE(result.meeting);
    EXPECT_NEAR(result.meeting->au, 0.5, 0.002);
    EXPECT_NEAR(result.meeting->samples_per_s, 4 / 0.002, 5);
  }
}

TEST(Meeting, TheFirstStocksOfALongWindowAreNotScored) {
  // 100 batches of stock are read before the first step: 100 x 2 ms. Of the other 100 steps' reading
  // training has 100 ms ahead, so steps of 1 ms end at their own rate or when their data comes.
  auto experiment = Epochs(1, 1, 200, Reading(100, 5e5, spec::StorageSharing::kFair));
  experiment.loader.prefetch_factor = 1;
  const auto result = ResultOf(experiment);
  ASSERT_TRUE(result.meeting);
  EXPECT_NEAR(result.meeting->first_step_s, 0.201, 1e-3);
  EXPECT_GT(result.meeting->au, 0.5);
}

TEST(FairSharing, ManyReadersFinishTogether) {
  // 192 readers of equal samples at once: each gets 1/192 of the bandwidth.
  auto experiment = Reading(192, 1e6, spec::StorageSharing::kFair);
  experiment.run.steps = 1;
  EXPECT_NEAR(*ResultOf(experiment).time_to_first_batch_s, 192 * 0.001, 1e-6);
  experiment.storage.sharing = spec::StorageSharing::kFifo;
  EXPECT_NEAR(*ResultOf(experiment).time_to_first_batch_s, 0.001, 1e-6);
}

TEST(FairSharing, IsWorkConserving) {
  for (const int workers : {1, 3, 16}) {
    auto experiment = Reading(workers, 1e5, spec::StorageSharing::kFair);  // 10 ms a sample
    experiment.run.steps = 2000;
    EXPECT_NEAR(*ResultOf(experiment).samples_per_s, 100, 1) << workers;
  }
}

TEST(FairSharing, LatencyComesOnTop) {
  auto experiment = Reading(1, 1e6, spec::StorageSharing::kFair);
  experiment.storage.latency = Fixed(3ms);
  experiment.run.steps = 1;
  EXPECT_NEAR(*ResultOf(experiment).time_to_first_batch_s, 0.004, 1e-6);
}

TEST(FairSharing, SkipsPeriodsExactly) {
  auto experiment = Reading(3, 1e6, spec::StorageSharing::kFair);
  experiment.run.steps = 5000;
  RunControl control;
  control.skip_periods = false;
  const trace::RunTrace skipped = Predict(experiment);
  const trace::RunTrace whole = Predict(experiment, cost::Stated(experiment), control);
  EXPECT_EQ(skipped.end, whole.end);
  EXPECT_EQ(TotalIn(skipped, Role::kWorker, State::kRead), TotalIn(whole, Role::kWorker, State::kRead));
}

}  // namespace
}  // namespace pipesim::engine
