#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/random.h"
#include "measure/rates.h"
#include "measured.h"

namespace pipesim::measure {
namespace {

using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;

RC_GTEST_PROP(Rate, OfDeterministicStagesIsTheSmallerOfLoadingAndTraining, ()) {
  Pipeline pipeline;
  pipeline.workers = *rc::gen::inRange(1, 9);
  pipeline.steps = *rc::gen::inRange<std::int64_t>(40, 500);
  pipeline.prepare = Ms(*rc::gen::inRange(1, 50));
  pipeline.forward = Ms(*rc::gen::inRange(1, 20));
  const double s = base::ToSeconds(pipeline.prepare), g = base::ToSeconds(pipeline.forward);
  const double expected = 64 * std::min(pipeline.workers / s, 1 / g);
  const double rate = *Measured(pipeline).result.samples_per_s;
  RC_ASSERT(std::abs(rate / expected - 1) < 1e-9);
}

TEST(Rate, WithoutWorkersIsOneBatchAfterTheOther) {
  const Pipeline pipeline{.workers = 0, .prepare = Ms(6), .forward = Ms(2)};
  EXPECT_NEAR(*Measured(pipeline).result.samples_per_s, 64 / 0.008, 1e-6);
}

TEST(Rate, CountsPartialBatchesAtTheirTrueSize) {
  Pipeline pipeline{.workers = 0, .epoch_batches = 10, .last_batch = 24, .forward = Ms(2)};
  // Whole epochs of 9 x 64 + 24 samples in 20 ms.
  EXPECT_NEAR(*Measured(pipeline).result.samples_per_s, (9 * 64 + 24) / 0.020, 1e-6);
}

TEST(Rate, GivesTheFirstBatchItsTime) {
  const Pipeline pipeline{.startup = Ms(100), .read = Ms(3), .prepare = Ms(40), .forward = Ms(1)};
  EXPECT_NEAR(*Measured(pipeline).result.time_to_first_batch_s, 0.143, 1e-9);
}

TEST(StepTime, IsTheWindowOverItsStepsWithQuantilesOfSingleSteps) {
  // Loader-bound with 4 workers: one step of 37 ms (starved 36) and three of 1 ms in each cycle.
  const Pipeline pipeline{.workers = 4, .prepare = Ms(40), .forward = Ms(1)};
  const StepTime time = *Measured(pipeline).result.step_time;
  EXPECT_NEAR(time.mean_s, 0.010, 1e-9);
  EXPECT_NEAR(*time.p50_s, 0.001, 1e-9);
  EXPECT_NEAR(*time.p95_s, 0.037, 1e-9);
}

TEST(StepTime, LeavesOutQuantilesThatTooFewStepsCannotShow) {
  const auto times = [](std::int64_t measured) {
    Pipeline pipeline{.workers = 1, .steps = measured + 1, .forward = Ms(1)};
    spec::Experiment experiment = ExperimentOf(pipeline);
    experiment.run.warmup = Ms(1);
    return *Measured(TraceOf(pipeline), experiment).result.step_time;
  };
  EXPECT_FALSE(times(1).p50_s);
  EXPECT_TRUE(times(2).p50_s);
  EXPECT_FALSE(times(19).p95_s);
  EXPECT_TRUE(times(20).p95_s);
  EXPECT_FALSE(times(99).p99_s);
  EXPECT_TRUE(times(100).p99_s);
}

TEST(Interval, OfAnEvenRunIsTheRateItself) {
  const Result result = Measured({.workers = 4, .prepare = Ms(40), .forward = Ms(1)}).result;
  ASSERT_TRUE(result.samples_per_s_interval);
  EXPECT_NEAR(result.samples_per_s_interval->low, *result.samples_per_s, 1e-6);
  EXPECT_NEAR(result.samples_per_s_interval->high, *result.samples_per_s, 1e-6);
}

TEST(Interval, OfAFewEpochsKnowsThatTheirBordersRepeat) {
  // 4 workers, epochs of 70 batches: 18 rounds of 40 ms, and two steps of 1 ms after the last one.
  const Pipeline pipeline{
      .workers = 4, .steps = 390, .epoch_batches = 70, .prepare = Ms(40), .forward = Ms(1)};
  const Result result = Measured(pipeline).result;
  EXPECT_EQ(result.steps, 5 * 70);
  EXPECT_NEAR(*result.samples_per_s, 70 * 64 / 0.722, 1e-6);
  EXPECT_LT(*RelativeHalfWidth(result), 1e-6);
}

TEST(Interval, IsNotThereForOneStep) {
  const Pipeline pipeline{.workers = 4, .steps = 2, .prepare = Ms(1), .forward = Ms(40)};
  EXPECT_FALSE(Measured(pipeline).result.samples_per_s_interval);
}

/// Steps of 10 ms, each with its own exponential rest of 10 ms on average.
Pipeline Noisy(std::uint64_t seed) {
  Pipeline pipeline{.workers = 1, .forward = Ms(10)};
  pipeline.extra = [seed](std::int64_t step) {
    base::KeyedStream stream(seed, base::Stage::kStep, static_cast<std::uint64_t>(step));
    return base::FromSeconds(-0.010 * std::log(stream.NextUnit()));
  };
  return pipeline;
}

/// Of 300 runs, those whose interval holds the true rate.
int Held(std::int64_t epoch_batches) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Pipeline pipeline = Noisy(seed);
    pipeline.epoch_batches = epoch_batches;
    const Interval interval = *Measured(pipeline).result.samples_per_s_interval;
    held += interval.low <= 64 / 0.020 && 64 / 0.020 <= interval.high;
  }
  return held;
}

TEST(Interval, HoldsTheTrueRateAboutAsOftenAsItsLevelSays) {
  // 95 % of 300, five standard errors (1.26 % each) below for cutting the warm-up where it looks
  // best.
  constexpr double kLeast = 300 * 0.887;
  EXPECT_GE(Held(1'000'000), kLeast);
  EXPECT_LT(Held(1'000'000), 300);
  // Five epochs: their interval, or that of their parts.
  EXPECT_GE(Held(75), kLeast);
  EXPECT_LT(Held(75), 300);
}

TEST(Interval, OfAFewEpochsIsThatOfTheirPartsWhereBordersHardlyShow) {
  Pipeline pipeline = Noisy(1);
  pipeline.epoch_batches = 75;
  const Result result = Measured(pipeline).result;
  EXPECT_EQ(result.steps, 5 * 75);
  EXPECT_THAT(result.samples_per_s_interval->method, ::testing::Not(::testing::HasSubstr("(5)")));
}

TEST(Interval, UsesLongerBatchesWhileNeighboursAreCorrelated) {
  Pipeline pipeline{.workers = 1, .steps = 3000, .forward = Ms(10)};
  const auto batches = [](const Pipeline& p) {
    spec::Experiment experiment = ExperimentOf(p);
    experiment.run.warmup = Ms(100);
    const std::string method =
        Measured(TraceOf(p), experiment).result.samples_per_s_interval->method;
    return std::stoi(method.substr(method.find('(') + 1));
  };
  pipeline.extra = Noisy(1).extra;
  const int even = batches(pipeline);
  // A wave of 1,500 steps: each of 30 batches is much like the one before it.
  pipeline.extra = [](std::int64_t step) {
    return Ms(5 + 5 * std::sin(0.0041888 * static_cast<double>(step)));
  };
  EXPECT_GE(even, 15);
  EXPECT_LE(even, 30);
  EXPECT_LT(batches(pipeline), even);
}

TEST(Epochs, TellTheirRateFirstBatchAndStarvation) {
  const Pipeline pipeline{
      .workers = 1, .steps = 30, .epoch_batches = 10, .prepare = Ms(4), .forward = Ms(1)};
  const auto epochs = Measured(pipeline).result.epochs;
  ASSERT_EQ(epochs.size(), 3u);
  for (const EpochResult& epoch : epochs) {
    // Ten batches, one each 4 ms, and the last step: 41 ms, 31 of them starved.
    EXPECT_NEAR(epoch.samples_per_s, 640 / 0.041, 1e-6);
    EXPECT_NEAR(epoch.time_to_first_batch_s, 0.004, 1e-9);
    EXPECT_NEAR(epoch.starved_fraction, 31.0 / 41, 1e-9);
  }
}

TEST(Queue, TellsHowFullItWas) {
  const Measurement full = Measured({.workers = 2, .prepare = Ms(1), .forward = Ms(10)});
  EXPECT_EQ(full.queue.capacity, 4);
  EXPECT_GT(*full.queue.full_fraction, 0.95);
  EXPECT_EQ(*full.queue.empty_fraction, 0);
  EXPECT_FALSE(Measured({.workers = 0, .prepare = Ms(1), .forward = Ms(1)}).queue.occupancy_mean);
}

}  // namespace
}  // namespace pipesim::measure
