// Deterministic stages: X = min(W / s, 1 / g) over whole cycles of W batches, to the nanosecond.
#include "pipeline.h"

namespace pipesim::engine {
namespace {

struct Case {
  int workers;
  Duration batch, step;
};

class DeterministicStages : public testing::TestWithParam<Case> {};

TEST_P(DeterministicStages, RunAtTheRateOfTheSlower) {
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
                         testing::Values(Case{1, 1ms, 1ms}, Case{1, 5ms, 1ms}, Case{4, 4ms, 1ms},
                                         Case{4, 2ms, 2ms}, Case{8, 4ms, 1ms}, Case{4, 7ms, 1ms},
                                         Case{3, 10ms, 3ms}, Case{64, 64ms, 900us}));

TEST(Stages, WithoutWorkersLoadingOverlapsTheDevicesStepsAlone) {
  const auto experiment = Stages(0, 3ms, 1ms, 101);
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.progress[100].at - trace.progress[0].at, 100 * 3ms);
}

TEST(Stages, ReadingEveryResultBackTakesTheOverlapAway) {
  auto experiment = Stages(0, 3ms, 1ms, 101);
  experiment.training.sync_every = 1;
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.progress[100].at - trace.progress[0].at, 100 * 4ms);
}

TEST(Stages, AreMeasuredLikeAnyRun) {
  const auto experiment = Stages(4, 8ms, 1ms, 401);
  const auto measured = measure::Measure(Predict(experiment), experiment);
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
