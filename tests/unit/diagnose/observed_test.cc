// What the user sees on the real system against what the description of it gives.
#include "diagnose/observed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// 550 MB/s deliver 28.8 MB in 52.4 ms; the GPU computes for 10 of them.
MadeRun OnADisk() { return RunBuilder::OnGpu(10 * kMs).Workers(16).Storage(550e6, 1e-9).Build(); }

ObservedCheck Check(const Observed& observed) {
  const MadeRun run = OnADisk();
  return CheckObserved(observed, run.experiment, run.measurement);
}

TEST(Observed, WhatIsNearlyAsDescribedDoesNotDiffer) {
  const ObservedCheck check = Check({.device_utilization = 0.2, .samples_per_s = 4700});
  EXPECT_FALSE(check.Differs());
  EXPECT_THAT(check.mend, IsEmpty());
  EXPECT_EQ(check.quantities.size(), 2u);
}

TEST(Observed, ASlowerSystemWithTheSameStepHasASlowerInput) {
  // Half the rate and half the utilization: a step keeps the device busy for 10 ms all the same.
  const ObservedCheck check = Check({.device_utilization = 0.0955, .samples_per_s = 2441});
  EXPECT_TRUE(check.Differs());
  EXPECT_THAT(check.mend,
              ElementsAre("a read from your storage takes at least 6.55 ms (2,440 reads/s, 275 MB/s in all)",
                          "or each of 16 workers takes at least 6.55 ms for a sample"));
}

TEST(Observed, ALongerStepIsNamedBeforeTheInput) {
  const ObservedCheck check = Check({.device_utilization = 0.9, .step_s = 0.0524});
  ASSERT_EQ(check.mend.size(), 1u);
  EXPECT_THAT(check.mend.front(), HasSubstr("a step keeps your device busy for 47.2 ms, here for 10.0 ms"));
}

TEST(Observed, MoreCpuTimeForASampleIsNamed) {
  const MadeRun run = RunBuilder::OnGpu(1 * kMs).Workers(8).Burn(51.2 * kMs).Build();
  // 8 cores, 0.2 ms a sample: 40,000 samples/s; the real system makes 10,000 with all cores busy.
  const ObservedCheck check = CheckObserved({.samples_per_s = 10000, .cpu_utilization = 1},
                                            run.experiment, run.measurement);
  ASSERT_EQ(check.mend.size(), 1u);
  EXPECT_THAT(check.mend.front(), HasSubstr("a sample takes 800 us of CPU time on your system"));
}

TEST(Observed, AnotherSystemsDescriptionLowersTheConfidence) {
  const MadeRun run = OnADisk();
  Diagnosis d = run.DiagnoseBy(PredictByBounds);
  ASSERT_EQ(d.confidence, Confidence::kHigh);
  HeedObserved({}, run.experiment, run.measurement, d);
  EXPECT_FALSE(d.observed);
  HeedObserved({.samples_per_s = 4900}, run.experiment, run.measurement, d);
  EXPECT_EQ(d.confidence, Confidence::kHigh);
  HeedObserved({.samples_per_s = 450}, run.experiment, run.measurement, d);
  EXPECT_EQ(d.confidence, Confidence::kLow);
}

TEST(Observed, AFigureThatTheRunLacksIsNoDifference) {
  MadeRun run = OnADisk();
  run.measurement.result.accelerator_utilization.reset();
  const ObservedCheck check =
      CheckObserved({.device_utilization = 0.9}, run.experiment, run.measurement);
  EXPECT_FALSE(check.Differs());
  EXPECT_EQ(check.quantities.front().described, std::nullopt);
}

}  // namespace
}  // namespace pipesim::diagnose::testing
