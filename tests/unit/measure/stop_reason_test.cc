#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "measure/measurement.h"
#include "support/trace_builder.h"

namespace pipesim::measure {
namespace {

using std::chrono::seconds;
using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;
using trace::EndReason;

/// Steps of exactly 100 ms, so that all batch means agree.
Pipeline Even(std::int64_t steps) { return {.workers = 1, .steps = steps, .forward = Ms(100)}; }

/// The run settings of the user; the others have their defaults.
struct Asked {
  std::optional<Duration> duration{}, warmup{};
  std::optional<std::int64_t> steps{}, epochs{};
  std::int64_t min_steps = 1;
  double max_noise = 0.02;
  Duration max_duration = seconds(60);
};

std::optional<EndReason> AskAtEnd(const Pipeline& pipeline, const Asked& asked) {
  const trace::RunTrace trace = TraceOf(pipeline);
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.duration = asked.duration;
  experiment.run.warmup = asked.warmup;
  experiment.run.steps = asked.steps;
  experiment.run.epochs = asked.epochs;
  experiment.run.min_steps = asked.min_steps;
  experiment.run.max_noise = asked.max_noise;
  experiment.run.max_duration = asked.max_duration;
  return StopReason(trace, trace.end, experiment);
}

TEST(StopReason, AutoWaitsForFiveSecondsOfMeasurement) {
  // The first step is warm-up: 5 s are full with step 51.
  EXPECT_EQ(AskAtEnd(Even(50), {}), std::nullopt);
  EXPECT_EQ(AskAtEnd(Even(51), {}), EndReason::kEnough);
}

TEST(StopReason, AutoNeedsFewStepsWhereTheyAgree) {
  Pipeline pipeline = Even(2);
  pipeline.forward = seconds(6);
  EXPECT_EQ(AskAtEnd(pipeline, {}), std::nullopt);  // one measured step has no interval
  pipeline.steps = 3;
  EXPECT_EQ(AskAtEnd(pipeline, {}), EndReason::kEnough);
  EXPECT_EQ(AskAtEnd(pipeline, {.min_steps = 3}), std::nullopt);
}

TEST(StopReason, AutoIsNotHeldUpByBursts) {
  // Eight workers finish together once a second; two bursts are no interval of steps, but what they
  // load grows evenly.
  const Pipeline bursts{.workers = 8, .steps = 50, .prepare = seconds(1), .forward = Ms(1)};
  EXPECT_EQ(AskAtEnd(bursts, {}), EndReason::kEnough);
}

TEST(StopReason, AutoWaitsForANarrowInterval) {
  Pipeline pipeline = Even(300);
  pipeline.extra = [](std::int64_t step) { return Ms((step * 7919) % 13 < 5 ? 150 : 0); };
  EXPECT_EQ(AskAtEnd(pipeline, {.max_noise = 0.001}), std::nullopt);
  EXPECT_EQ(AskAtEnd(pipeline, {.max_noise = 0.5}), EndReason::kEnough);
}

TEST(StopReason, AutoEndsAtMaxDuration) {
  EXPECT_EQ(AskAtEnd(Even(400), {.max_noise = -1}), std::nullopt);
  EXPECT_EQ(AskAtEnd(Even(600), {.max_noise = -1}), EndReason::kMaxDuration);
  EXPECT_EQ(AskAtEnd(Even(40), {.max_duration = seconds(3)}), EndReason::kMaxDuration);
}

TEST(StopReason, ADurationCountsFromTheEndOfTheWarmUp) {
  EXPECT_EQ(AskAtEnd(Even(30), {.duration = seconds(2), .warmup = seconds(1)}),
            EndReason::kDuration);
  EXPECT_EQ(AskAtEnd(Even(29), {.duration = seconds(2), .warmup = seconds(1)}), std::nullopt);
}

TEST(StopReason, AFixedDurationIgnoresPrecision) {
  Pipeline pipeline = Even(12);
  EXPECT_EQ(AskAtEnd(pipeline, {.duration = seconds(1)}), EndReason::kDuration);
}

TEST(StopReason, StepsAndEpochsIncludeTheWarmUp) {
  EXPECT_EQ(AskAtEnd(Even(20), {.steps = 20}), EndReason::kSteps);
  EXPECT_EQ(AskAtEnd(Even(19), {.steps = 20}), std::nullopt);
  Pipeline epochs = Even(20);
  epochs.epoch_batches = 10;
  EXPECT_EQ(AskAtEnd(epochs, {.epochs = 2}), EndReason::kEpochs);
  epochs.steps = 19;
  EXPECT_EQ(AskAtEnd(epochs, {.epochs = 2}), std::nullopt);
}

TEST(StopReason, AStepLimitHasNoTimeLimit) {
  EXPECT_EQ(AskAtEnd(Even(1000), {.steps = 2000}), std::nullopt);
}

TEST(StopReason, TheFirstLimitReachedEndsTheRun) {
  EXPECT_EQ(AskAtEnd(Even(50), {.duration = seconds(2), .steps = 2000}), EndReason::kDuration);
  EXPECT_EQ(AskAtEnd(Even(50), {.duration = seconds(60), .steps = 50}), EndReason::kSteps);
}

TEST(StopReason, EndsARunWithoutSteps) {
  const Pipeline nothing{.steps = 0};
  const trace::RunTrace trace = TraceOf(nothing);
  spec::Experiment experiment = ExperimentOf(nothing);
  EXPECT_EQ(StopReason(trace, trace.begin + seconds(59), experiment), std::nullopt);
  EXPECT_EQ(StopReason(trace, trace.begin + seconds(60), experiment), EndReason::kMaxDuration);
  experiment.run.duration = seconds(2);
  EXPECT_EQ(StopReason(trace, trace.begin + seconds(61), experiment), std::nullopt);
  EXPECT_EQ(StopReason(trace, trace.begin + seconds(62), experiment), EndReason::kMaxDuration);
}

}  // namespace
}  // namespace pipesim::measure
