// Slices of a run: shares, rates and means that follow from a recurrence.
#include <gtest/gtest.h>

#include "measured.h"

namespace pipesim::measure {
namespace {

using tests::Ms;

/// The values of a line in the second half of the run, where the pipeline is in its steady state.
std::vector<double> Steady(const OverTime::Line& line) {
  std::vector<double> values;
  for (std::size_t i = line.size() / 2; i + 1 < line.size(); ++i)
    if (line[i]) values.push_back(*line[i]);
  return values;
}

TEST(OverTime, SharesAndRatesOfASteadyPipelineAreItsOwn) {
  // One worker of 4 ms and a step of 1 ms: the consumer trains 1/4 of the time and waits 3/4.
  const tests::Pipeline pipeline{
      .workers = 1, .steps = 4000, .batch_size = 64, .prepare = Ms(4), .forward = Ms(1)};
  const auto lines = OverTimeOf(tests::TraceOf(pipeline), pipeline.batch_size);
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->samples_per_s.size(), kMostSlices);
  EXPECT_NEAR(lines->slice_s * kMostSlices, 16.0, 0.1);
  for (const double share : Steady(lines->device_busy)) EXPECT_NEAR(share, 0.25, 0.01);
  for (const double share : Steady(lines->starved)) EXPECT_NEAR(share, 0.75, 0.01);
  for (const double rate : Steady(lines->samples_per_s)) EXPECT_NEAR(rate, 64 / 0.004, 300);
  EXPECT_EQ(Steady(lines->starved).size(), kMostSlices / 2 - 1);
}

TEST(OverTime, ShowsWhenTheRunChanges) {
  // Steps take 1 ms at first and 3 ms from the middle on.
  const tests::Pipeline pipeline{.workers = 0,
                                 .steps = 2000,
                                 .batch_size = 10,
                                 .prepare = Ms(1),
                                 .forward = Ms(1),
                                 .extra = [](std::int64_t k) { return k < 1000 ? Ms(0) : Ms(2); }};
  const auto lines = OverTimeOf(tests::TraceOf(pipeline), pipeline.batch_size);
  ASSERT_TRUE(lines);
  EXPECT_NEAR(*lines->samples_per_s[5], 10 / 0.002, 50);
  EXPECT_NEAR(*lines->samples_per_s[kMostSlices - 5], 10 / 0.004, 50);
}

TEST(OverTime, ShowsTheGpuAsItWasReadAndNothingBeyondTheReadings) {
  const tests::Pipeline pipeline{.workers = 1, .steps = 1200, .prepare = Ms(4), .forward = Ms(1)};
  trace::RunTrace trace = tests::TraceOf(pipeline);
  ASSERT_FALSE(OverTimeOf(trace, 1)->gpu);
  tests::AddUse(trace, {.cores = 1}, 25);
  // 400 W, then 100 W a quarter of the run later; the last reading failed.
  for (std::size_t i = 0; i + 1 < trace.resources.size(); ++i)
    trace.resources[i].gpu.power_w = i < 6 ? 400 : 100;
  const auto gpu = OverTimeOf(trace, 1)->gpu;
  ASSERT_TRUE(gpu);
  EXPECT_NEAR(*gpu->power_w[10], 400, 1e-9);
  EXPECT_NEAR(*gpu->power_w[60], 100, 1e-9);
  EXPECT_EQ(gpu->power_w.back(), std::nullopt);
  for (const auto& value : gpu->sm_clock_mhz) EXPECT_EQ(value, std::nullopt);
}

TEST(OverTime, TheDeviceOfARealGpuIsBusyNoLongerThanItsStepsTakeAlone) {
  // Every 4 ms a step whose bracket lasts 3 ms; its kernels take 1 ms, and the rest waits for launches.
  trace::RunTrace trace = tests::TraceOf(
      {.workers = 1, .steps = 1200, .batch_size = 8, .prepare = Ms(4), .forward = Ms(3), .asynchronous = true});
  trace.effective.device = spec::DeviceId::Cuda(0);
  const auto bracket = OverTimeOf(trace, 8);
  for (const double share : Steady(bracket->device_busy)) EXPECT_NEAR(share, 0.75, 0.02);
  trace.effective.device_step = Ms(1);
  const auto busy = OverTimeOf(trace, 8);
  for (const double share : Steady(busy->device_busy)) EXPECT_NEAR(share, 0.25, 0.02);
}

TEST(OverTime, HasNoMoreSlicesThanSteps) {
  const auto lines = OverTimeOf(tests::TraceOf({.workers = 1, .steps = 7, .prepare = Ms(1), .forward = Ms(1)}), 1);
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->device_busy.size(), 7u);
}

TEST(OverTime, MarksEpochsAfterTheFirstUnlessThereAreTooMany) {
  const tests::Pipeline few{
      .workers = 1, .steps = 30, .epoch_batches = 10, .prepare = Ms(2), .forward = Ms(1)};
  const trace::RunTrace trace = tests::TraceOf(few);
  const auto lines = OverTimeOf(trace, 1);
  ASSERT_EQ(lines->epoch_begins_s.size(), 2u);
  EXPECT_DOUBLE_EQ(lines->epoch_begins_s[0], base::ToSeconds(trace.epochs[1].begin - trace.begin));
  const tests::Pipeline many{
      .workers = 1, .steps = 500, .epoch_batches = 10, .prepare = Ms(2), .forward = Ms(1)};
  EXPECT_TRUE(OverTimeOf(tests::TraceOf(many), many.batch_size)->epoch_begins_s.empty());
}

TEST(OverTime, WhatWasNotReadIsUnknown) {
  const auto lines = OverTimeOf(tests::TraceOf({.workers = 1, .steps = 50, .prepare = Ms(1), .forward = Ms(1)}), 1);
  ASSERT_TRUE(lines);
  for (const auto& cores : lines->cores_used) EXPECT_FALSE(cores);  // the trace has no counters
}

TEST(OverTime, ARunWithoutAStepHasNone) {
  EXPECT_FALSE(OverTimeOf(trace::RunTrace{}, 1));
}

}  // namespace
}  // namespace pipesim::measure
