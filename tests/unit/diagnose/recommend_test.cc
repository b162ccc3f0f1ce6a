#include "diagnose/recommend.h"

#include <gtest/gtest.h>

#include "diagnose/what_if.h"
#include "run_builder.h"

namespace pipesim::diagnose {
namespace {

TEST(FromBest, ADeviceIsPartOfNoPairOfSettings) {
  const diagnose::testing::MadeRun run = diagnose::testing::RunBuilder::OnGpu(1e-3).Build();
  const Variant now = run.Now();
  const Predictor predict = PredictByBounds;
  const Thresholds thresholds;
  const Offers offers;
  const Question question{run.experiment, run.measurement, now, predict, predict, predict, thresholds, offers};
  WhatIf device{.change = "emulated device x2", .after = now.settings};
  device.takes = Takes::kDevice;
  device.eases = Demand::kStep;
  device.gain = 0.1;
  WhatIf pair{.change = "prefetch 2 to 4 and workers 32 to 33", .after = now.settings};
  pair.set = {{"loader.prefetch_factor", "4"}, {"loader.workers", "33"}};
  pair.pair_takes = Takes::kFlag;
  const std::vector<WhatIf> rows = {device, pair};
  const Recommendation recommended =
      FromBest("a faster device", Findings{question, Decision{}, Doubt{}, rows, std::nullopt}, Demand::kStep);
  EXPECT_EQ(recommended.text, "a faster device; emulated device x2");
  EXPECT_EQ(recommended.gain, 0.1);
}

}  // namespace
}  // namespace pipesim::diagnose
