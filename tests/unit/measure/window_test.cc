#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "measure/measurement.h"
#include "support/trace_builder.h"

namespace pipesim::measure {
namespace {

using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;

/// Four workers of 40 ms and steps of 1 ms: loader-bound, 4 batches per 40 ms.
Pipeline Starving() { return {.workers = 4, .prepare = Ms(40), .forward = Ms(1)}; }

std::int64_t Steps(const Window& window) { return window.last_step - window.first_step; }

TEST(Window, ExcludesTheFirstStepWhileThePipelineFills) {
  Pipeline pipeline = Starving();
  pipeline.startup = Ms(500);
  const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_GE(window->first_step, 1);
  // 396 = 99 cycles of 4 fit into the 399 steps that are left, unless MSER-5 cut more.
  EXPECT_EQ(Steps(*window) % 4, 0);
}

TEST(Window, HoldsWholeCyclesSoThatBurstsDoNotBiasTheRate) {
  for (const std::int64_t steps : {41, 42, 43, 44}) {
    Pipeline pipeline = Starving();
    pipeline.steps = steps;
    const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
    ASSERT_TRUE(window);
    EXPECT_EQ(window->first_step, 1);
    EXPECT_EQ(window->last_step, 41);
    // Ten cycles of 4 batches, 40 ms each.
    EXPECT_EQ(window->to - window->from, Ms(400));
  }
}

TEST(Window, CountsWhatIsLoadedWhereTrainingUsesUpStock) {
  // The first step holds up training until 32 batches are in stock; later ones take 1 ms.
  Pipeline pipeline = Starving();
  pipeline.prefetch_factor = 8;
  pipeline.steps = 20;
  pipeline.extra = [](std::int64_t step) { return Ms(step == 0 ? 400 : 0); };
  const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->samples, 16 * 64);
  EXPECT_LT(window->counted, 3 * 64);
}

/// The emulated storage had no free moment in the whole run.
void BusyStorage(trace::RunTrace& trace) {
  trace::ResourceSample first, last;
  first.at = trace.begin;
  last.at = trace.end;
  last.storage_bandwidth_busy = trace.end - trace.begin;
  trace.resources = {first, last};
}

TEST(Window, CountsWhatIsLoadedFromAFullStorageThoughWorkersWaitForRoom) {
  // Storage gives a batch each 26 ms, training takes one each 24; the first step holds it up until
  // 32 batches are in stock. They last for 400 steps, and workers wait for room all the while.
  const Pipeline pipeline{.workers = 16,
                          .steps = 113,
                          .read = Ms(26),
                          .one_reader = true,
                          .forward = Ms(24),
                          .extra = [](std::int64_t step) { return Ms(step == 0 ? 1000 : 0); }};
  trace::RunTrace trace = TraceOf(pipeline);
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.bandwidth = base::BytesPerSecond{64 * 1000 / 26e-3};
  EXPECT_FALSE(MeasuredWindow(trace, experiment)->by_loading) << "storage had free moments";
  BusyStorage(trace);
  const auto window = MeasuredWindow(trace, experiment);
  ASSERT_TRUE(window);
  EXPECT_TRUE(window->by_loading);
  EXPECT_NEAR(SamplesPerSecondOfAll(trace, *window), 64 / 26e-3, 0.02 * 64 / 26e-3);
}

TEST(Window, CountsWhatIsLoadedWhereTrainingWaitsLongerThanWorkers) {
  // Batches of 20 to 59 ms: some workers wait for room, beside training that mostly waits for data.
  Pipeline pipeline{.workers = 16, .steps = 4001, .prepare = Ms(20), .forward = Ms(0.1)};
  pipeline.uneven = [](std::int64_t k) { return Ms(static_cast<double>(k * 40'503 % 1009 % 40)); };
  const spec::Experiment experiment = ExperimentOf(pipeline);
  const trace::RunTrace longer = TraceOf(pipeline);
  const double sustained = SamplesPerSecondOfAll(
      longer, *MeasuredWindow(longer, experiment));

  pipeline.steps = 97;
  pipeline.extra = [](std::int64_t step) { return Ms(step == 0 ? 1000 : 0); };
  const trace::RunTrace trace = TraceOf(pipeline);
  const auto window = MeasuredWindow(trace, experiment);
  ASSERT_TRUE(window);
  EXPECT_TRUE(window->by_loading);
  EXPECT_NEAR(SamplesPerSecondOfAll(trace, *window), sustained, 0.05 * sustained);
}

TEST(Window, CountsDeliveriesWhereTrainingLimits) {
  // Workers of 10 ms fill the window while steps of 20 ms go on: more is loaded than delivered.
  const Pipeline pipeline{
      .workers = 4, .prefetch_factor = 8, .steps = 40, .prepare = Ms(10), .forward = Ms(20)};
  const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_FALSE(window->by_loading);
  EXPECT_EQ(window->counted, window->samples);
}

TEST(Window, ARunThatSawOnlyItsFirstBatchesCountsFromItsBegin) {
  // Eight workers take 10 s for a batch; their first eight are trained on in 8 ms.
  const Pipeline pipeline{
      .workers = 8, .steps = 8, .prepare = std::chrono::seconds(10), .forward = Ms(1)};
  const trace::RunTrace trace = TraceOf(pipeline);
  const auto window = MeasuredWindow(trace, ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->from, trace.begin);
  EXPECT_TRUE(window->by_loading);
  const double per_s = SamplesPerSecondOfAll(trace, *window);
  EXPECT_NEAR(per_s, 8 * 64 / 10.0, 0.01 * per_s);
}

TEST(Window, OfEpochsBeginsWithAnEpoch) {
  // 2 workers of 10 ms and steps of 1 ms: the warm-up ends inside the first epoch, whose later
  // batches come out of what was loaded before.
  Pipeline pipeline{.workers = 2, .steps = 45, .epoch_batches = 40, .read = Ms(10), .forward = Ms(1)};
  pipeline.hits = [](std::int64_t) { return 0.5; };
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  const trace::RunTrace one = TraceOf(pipeline);
  EXPECT_EQ(MeasuredWindow(one, experiment)->from, one.begin);
  pipeline.steps = 125;
  const trace::RunTrace three = TraceOf(pipeline);
  const auto window = MeasuredWindow(three, experiment);
  EXPECT_EQ(window->first_step, 40);
  EXPECT_EQ(window->epochs, (EpochRange{1, 2}));
}

TEST(Window, BeginsAfterTheStatedWarmUp) {
  const Pipeline pipeline{.workers = 1, .steps = 100, .prepare = Ms(1), .forward = Ms(10)};
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.warmup = Ms(205);
  // Step k is done 1 + 10 (k + 1) ms after the begin: the first at or after 205 ms is the 21st.
  EXPECT_EQ(MeasuredWindow(TraceOf(pipeline), experiment)->first_step, 21);
}

TEST(Window, CountsTheFirstStepFromTheBeginOfTheRunWithoutWarmUp) {
  const Pipeline pipeline{.workers = 1, .steps = 100, .prepare = Ms(1), .forward = Ms(10)};
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.warmup = Duration::zero();
  const trace::RunTrace trace = TraceOf(pipeline);
  const auto window = MeasuredWindow(trace, experiment);
  EXPECT_EQ(window->from, trace.begin);
  EXPECT_EQ(Steps(*window), 100);
  EXPECT_EQ(window->samples, 100 * 64);
}

TEST(Window, CutsSlowFirstStepsByMser) {
  Pipeline pipeline{.workers = 1, .prepare = Ms(1), .forward = Ms(10)};
  pipeline.extra = [](std::int64_t step) { return step < 40 ? Ms(90) : Duration::zero(); };
  // 40 slow steps are 8 whole means of five; behind them every mean is equal.
  EXPECT_EQ(MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline))->first_step, 40);
}

TEST(Window, WarmUpIsAtMostHalfTheRun) {
  Pipeline pipeline{.workers = 1, .prepare = Ms(1), .forward = Ms(10)};
  pipeline.extra = [](std::int64_t step) { return step < 390 ? Ms(90) : Duration::zero(); };
  EXPECT_LE(MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline))->first_step, 200);
}

TEST(Window, WarmUpEndsWithinTheFirstEpoch) {
  Pipeline pipeline{.workers = 1, .epoch_batches = 70, .prepare = Ms(1), .forward = Ms(10)};
  pipeline.extra = [](std::int64_t step) { return step < 100 ? Ms(90) : Duration::zero(); };
  // A slow second epoch is a real cost: only the first may be excluded.
  EXPECT_EQ(MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline))->first_step, 70);
}

TEST(Window, HoldsWholeEpochsWhereTheyAreShort) {
  Pipeline pipeline = Starving();
  pipeline.epoch_batches = 7;
  const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_EQ(Steps(*window) % 7, 0);
  // An epoch of 7: the second round of batches is ready after 80 ms, and its three steps take 1 ms
  // each.
  EXPECT_EQ((window->to - window->from) / (Steps(*window) / 7), Ms(83));
}

TEST(Window, StaysWithinOneKeptStepOfWholeCyclesInALongRun) {
  Pipeline pipeline = Starving();
  pipeline.workers = 7;
  pipeline.steps = 30'001;
  const trace::RunTrace trace = TraceOf(pipeline);
  ASSERT_GT(trace.checkpoint_stride, 1);
  const auto window = MeasuredWindow(trace, ExperimentOf(pipeline));
  EXPECT_LT(Steps(*window) % 7, trace.checkpoint_stride);
  EXPECT_GT(Steps(*window), 30'001 / 2 - 7 - trace.checkpoint_stride);
}

TEST(Window, TakesEverythingWhenNotOneCycleFits) {
  const Pipeline pipeline{.workers = 64, .steps = 10, .prepare = Ms(1), .forward = Ms(10)};
  const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->first_step, 1);
  EXPECT_EQ(window->last_step, 10);
}

TEST(Window, TakesTheOnlyStepOfARunFromItsBegin) {
  Pipeline pipeline = Starving();
  pipeline.steps = 1;
  const auto window = MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->to - window->from, Ms(41));
}

TEST(Window, IsAbsentWithoutStepsOrWithAWarmUpLongerThanTheRun) {
  Pipeline pipeline = Starving();
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.warmup = std::chrono::hours(1);
  EXPECT_FALSE(MeasuredWindow(TraceOf(pipeline), experiment));
  pipeline.steps = 0;
  EXPECT_FALSE(MeasuredWindow(TraceOf(pipeline), ExperimentOf(pipeline)));
}

RC_GTEST_PROP(Window, LiesInsideTheRunWithWholeCyclesAndAtMostHalfWarmUp, ()) {
  Pipeline pipeline;
  pipeline.workers = *rc::gen::inRange(0, 9);
  pipeline.steps = *rc::gen::inRange<std::int64_t>(2, 600);
  pipeline.prepare = Ms(*rc::gen::inRange(1, 50));
  pipeline.forward = Ms(*rc::gen::inRange(1, 20));
  const trace::RunTrace trace = TraceOf(pipeline);
  const auto window = MeasuredWindow(trace, ExperimentOf(pipeline));
  RC_ASSERT(window.has_value());
  RC_ASSERT(window->from >= trace.begin && window->to <= trace.end && window->from < window->to);
  RC_ASSERT(window->first_step <= pipeline.steps / 2);
  const std::int64_t cycle = std::max(1, pipeline.workers);
  if (pipeline.steps - window->first_step >= cycle) {
    RC_ASSERT(Steps(*window) % cycle == 0);
    RC_ASSERT(pipeline.steps - window->last_step < cycle);
  }
  RC_ASSERT(window->samples == Steps(*window) * pipeline.batch_size);
}

}  // namespace
}  // namespace pipesim::measure
