// Predictions that start from the measured rate: what a change promises where the model of a run is
// off.
#include "diagnose/anchored.h"

#include <gtest/gtest.h>

#include "diagnose/settings.h"
#include "diagnose/shared_cores.h"
#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

/// Knows nothing of the pool's threads: it would be twice as fast.
Predictor TwiceAsFast() {
  return [](const Variant& v) { return 2 * PredictByBounds(v); };
}

TEST(Anchored, APoolThatStaysAsItIsKeepsTheModelsError) {
  const Variant now = RunBuilder::OnCpu(10 * kMs, 2).Cores(2).Workers(1).Build().Now();
  const double measured = PredictByBounds(now);
  const Predictor anchored = Anchored(TwiceAsFast(), now, measured);
  EXPECT_NEAR(anchored(now), measured, 1e-9 * measured);
  const Variant workers = Workers(now, 2).change(now);
  EXPECT_NEAR(anchored(workers), PredictByBounds(workers), 1e-9 * measured);
}

TEST(Anchored, WhatTakesThePoolAwayTakesTheErrorAway) {
  const Variant now = RunBuilder::OnCpu(10 * kMs, 2).Cores(2).Workers(1).Build().Now();
  const Predictor anchored = Anchored(TwiceAsFast(), now, PredictByBounds(now));
  const Variant fewer = ComputeThreads(now, 1).change(now);
  EXPECT_EQ(anchored(fewer), TwiceAsFast()(fewer));
  Variant alone = now;
  alone.pipeline.machine.others = {.wanted = 1, .held = 1};
  EXPECT_EQ(anchored(alone), TwiceAsFast()(alone));
}

TEST(Anchored, OtherProgramsThatHardlyRunDoNotExplainTheModelsError) {
  Variant now = RunBuilder::OnCpu(10 * kMs, 2).Cores(2).Workers(1).Build().Now();
  const auto gain_without = [&](double held) {
    now.pipeline.machine.others = {.wanted = 1, .held = held};
    const Predictor anchored = Anchored(TwiceAsFast(), now, PredictByBounds(now));
    return anchored(WithoutOtherPrograms(now)->change(now)) / anchored(now) - 1;
  };
  EXPECT_NEAR(gain_without(0.02), 0, 0.03);
  EXPECT_GT(gain_without(1), 0.9);
}

TEST(Anchored, OneThreadAndDevicesOfTheirOwnArePredictedAsTheyAre) {
  for (const Variant& now : {RunBuilder::OnCpu(10 * kMs, 1).Build().Now(),
                             RunBuilder::OnGpu(10 * kMs).Build().Now()}) {
    EXPECT_EQ(Anchored(TwiceAsFast(), now, PredictByBounds(now))(now), TwiceAsFast()(now));
  }
}

}  // namespace
}  // namespace pipesim::diagnose::testing
