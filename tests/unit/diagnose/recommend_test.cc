#include "diagnose/recommend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/what_if.h"
#include "run_builder.h"

namespace pipesim::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

/// A run and the question about it, whose findings are rows of the test's own.
struct AskedByTest {
  explicit AskedByTest(const diagnose::testing::RunBuilder& builder) : run(builder.Build()), now(run.Now()) {}
  AskedByTest(const AskedByTest&) = delete;
  AskedByTest& operator=(const AskedByTest&) = delete;

  Findings With(const std::vector<WhatIf>& rows) const { return {question, decision, doubt, rows, std::nullopt}; }

  diagnose::testing::MadeRun run;
  Variant now;
  Predictor predict = PredictByBounds;
  Thresholds thresholds;
  Offers offers;
  Question question{run.experiment, run.measurement, now, predict, predict, predict, thresholds, offers};
  Decision decision;
  Doubt doubt;
};

TEST(FromBest, ADeviceIsPartOfNoPairOfSettings) {
  const AskedByTest asked(diagnose::testing::RunBuilder::OnGpu(1e-3));
  WhatIf device{.change = "emulated device x2", .after = asked.now.settings};
  device.takes = Takes::kDevice;
  device.eases = Demand::kStep;
  device.gain = 0.1;
  WhatIf pair{.change = "prefetch 2 to 4 and workers 32 to 33", .after = asked.now.settings};
  pair.set = {{"loader.prefetch_factor", "4"}, {"loader.workers", "33"}};
  pair.pair_takes = Takes::kFlag;
  const std::vector<WhatIf> rows = {device, pair};
  const Recommendation recommended = FromBest("a faster device", asked.With(rows), Demand::kStep);
  EXPECT_EQ(recommended.text, "a faster device; emulated device x2");
  EXPECT_EQ(recommended.gain, 0.1);
}

// Two workers and two compute threads want four cores where there are two; a larger gain needs more cores.
TEST(FromDecided, FlagsThatGainMoreTogetherAreRecommendedTogether) {
  const diagnose::testing::MadeRun run = diagnose::testing::RunBuilder::OnCpu(3e-3, 2)
                                             .Workers(1)
                                             .Cores(2)
                                             .Burn(13e-3)
                                             .StepBesideWorkers(3e-3, 3.3e-3)
                                             .Build();
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(d.what_if[PairRow(d.what_if).value()].takes, Takes::kDevice);
  ASSERT_TRUE(d.recommendation);
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("limits.compute_threads", "1"), Pair("loader.workers", "2")));
  EXPECT_NEAR(d.recommendation->gain.value_or(0), 2 / 16.3 * 13 - 1, 0.01);
  EXPECT_THAT(d.recommendation->pytorch, StartsWith("torch.set_num_threads(1); DataLoader("));
}

TEST(NamingTheRest, WhatGainsFarMoreThanTheSettingComesAfterIt) {
  // Two threads beside two workers of 64 ms on two cores: one thread gains little, half of the work much.
  const AskedByTest asked(diagnose::testing::RunBuilder::OnCpu(1e-3, 2).Workers(2).Cores(2).Burn(64e-3));
  WhatIf code{.change = "prepare x1/2", .after = asked.now.settings};
  code.takes = Takes::kCode;
  code.gain = 0.88;
  const std::vector<WhatIf> rows = {code};
  const Findings findings = asked.With(rows);
  Recommendation little{.text = "compute threads 2 to 1"};
  little.set = {{"limits.compute_threads", "1"}};
  little.gain = 0.06;
  EXPECT_EQ(NamingTheRest(little, findings).text, "compute threads 2 to 1; beyond that, prepare x1/2");
  little.gain = 0.6;
  EXPECT_EQ(NamingTheRest(little, findings).text, "compute threads 2 to 1");
}

std::string RemedyOf(const diagnose::testing::RunBuilder& builder) {
  return builder.Build().DiagnoseBy(PredictByBounds).recommendation->text;
}

TEST(CpuBound, MoreCoresAreNamedWhereTheyGain) {
  using diagnose::testing::RunBuilder;
  // 16 workers of 80 ms of work on 4 cores; 4 on as many, which more cores leave as fast.
  EXPECT_THAT(RemedyOf(RunBuilder::OnGpu(1e-3).Workers(16).Cores(4).Burn(80e-3)),
              HasSubstr(" or more cores (4 allowed here)"));
  EXPECT_THAT(RemedyOf(RunBuilder::OnGpu(1e-3).Workers(4).Cores(4).Burn(80e-3)),
              Not(HasSubstr("more cores (")));
}

}  // namespace
}  // namespace pipesim::diagnose
