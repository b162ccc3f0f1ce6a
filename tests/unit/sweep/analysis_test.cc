// The answer of a sweep, and the order of its points.
#include "sweep/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sweep/order.h"

namespace pipesim::sweep {
namespace {

using testing::ElementsAre;

spec::SweepAxis Axis(const std::string& key, const std::vector<std::string>& values) {
  spec::SweepAxis axis{{key}, {}};
  for (const std::string& value : values) axis.values.push_back({{value, {}, value}});
  return axis;
}

PointResult Point(std::size_t point, double rate, std::int64_t workers, std::int64_t megabytes) {
  Outcome outcome;
  outcome.status = rate > 0 ? Status::kOk : Status::kFailed;
  if (rate > 0) outcome.samples_per_s = rate;
  outcome.workers = workers;
  outcome.queued_bytes = megabytes * 1'000'000;
  return {.point = point, .run = outcome, .predicted = std::nullopt};
}

/// The example of the report's layout: workers 0, 1, 2, 4, 8 by batch 64, 256.
struct Example {
  spec::Sweep sweep{.axes = {Axis("loader.workers", {"0", "1", "2", "4", "8"}),
                             Axis("loader.batch_size", {"64", "256"})},
                    .repeats = {},
                    .point_limit = {}};
  std::vector<PointResult> results{Point(0, 2800, 0, 0),   Point(1, 2820, 0, 0),
                                   Point(2, 3060, 1, 19),  Point(3, 3090, 1, 77),
                                   Point(4, 6060, 2, 39),  Point(5, 6150, 2, 154),
                                   Point(6, 8290, 4, 77),  Point(7, 11800, 4, 308),
                                   Point(8, 8240, 8, 154), Point(9, 16400, 8, 617)};
};

TEST(Analysis, MarksWhatIsBestForItsWorkersAndMemory) {
  const Example example;
  EXPECT_THAT(Analyse(example.sweep, example.results).pareto,
              ElementsAre(true, true, true, false, true, false, true, true, false, true));
}

TEST(Analysis, AChainOfNearlyEqualPointsKeepsAMarkNearTheFastest) {
  Example example;
  example.results = {Point(0, 100, 1, 1), Point(2, 101.9, 2, 2), Point(4, 103.8, 3, 3)};
  EXPECT_THAT(Analyse(example.sweep, example.results).pareto, ElementsAre(true, false, true));
}

TEST(Analysis, TheBestIsTheFastestAndStepsStartThere) {
  const Example example;
  const Analysis analysis = Analyse(example.sweep, example.results);
  EXPECT_EQ(analysis.best, 9u);
  ASSERT_EQ(analysis.steps.size(), 5u);  // four of workers at batch 256, one of batch at 8 workers
  EXPECT_NEAR(analysis.steps[3].gain, 16400. / 11800 - 1, 1e-12);
  EXPECT_EQ(analysis.steps[4].axis, 1u);
  EXPECT_NEAR(analysis.steps[4].gain, 16400. / 8240 - 1, 1e-12);
}

TEST(Analysis, EnoughIsTheSmallestPointOfTheSameTrainingWithinOnePercent) {
  Example example;
  example.results[9] = Point(9, 11850, 8, 617);  // 4 workers reach 99.6 %
  const Analysis analysis = Analyse(example.sweep, example.results);
  ASSERT_TRUE(analysis.enough && analysis.enough->point);
  EXPECT_EQ(*analysis.enough->point, 7u);
  EXPECT_NEAR(analysis.enough->share, 11800. / 11850, 1e-12);
}

TEST(Analysis, AnotherBatchIsNoSmallerSetting) {
  Example example;
  example.results[6] = Point(6, 16399, 4, 77);  // batch 64, nearly as fast as the best
  EXPECT_EQ(Analyse(example.sweep, example.results).enough->point, 9u);
}

TEST(Analysis, TheDiagnosisKnowsASettingBetweenThePoints) {
  Example example;
  Outcome& best = *example.results[9].run;
  best.enough_workers = 6;
  best.enough_prefetch_factor = 2;
  best.enough_share = 0.99;
  const Analysis analysis = Analyse(example.sweep, example.results);
  EXPECT_FALSE(analysis.enough->point);
  EXPECT_EQ(analysis.enough->workers, 6);
}

TEST(Analysis, WhatAPointReachedIsKnownBetterThanTheDiagnosisSays) {
  Example example;  // 4 workers reach 72 % of the best
  Outcome& best = *example.results[9].run;
  best.enough_workers = 4;
  best.enough_prefetch_factor = 2;
  best.enough_share = 1;
  EXPECT_EQ(Analyse(example.sweep, example.results).enough->point, 9u);
}

TEST(Analysis, FailedPointsAreNeitherBestNorMarked) {
  Example example;
  example.results[9] = Point(9, 0, 8, 617);
  const Analysis analysis = Analyse(example.sweep, example.results);
  EXPECT_EQ(analysis.best, 7u);
  EXPECT_FALSE(analysis.pareto[9]);
  for (PointResult& result : example.results) result.run = Point(0, 0, 0, 0).run;
  EXPECT_FALSE(Analyse(example.sweep, example.results).best);
}

TEST(Analysis, PredictionsAreComparedWithRuns) {
  Example example;
  example.results[0].predicted = Point(0, 2828, 0, 0).run;    // + 1 %
  example.results[1].predicted = Point(1, 2735.4, 0, 0).run;  // - 3 %
  example.results[1].predicted->bottleneck = "io-bound";
  example.results[2].predicted = Point(2, 0, 1, 0).run;  // could not be predicted
  const auto error = Analyse(example.sweep, example.results).error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->compared, 2u);
  EXPECT_NEAR(error->mean, 0.02, 1e-9);
  EXPECT_NEAR(error->worst, 0.03, 1e-9);
  EXPECT_EQ(error->verdicts_agree, 1u);
}

RC_GTEST_PROP(Order, TheShardsHoldEveryPointOnce, ()) {
  const auto points = *rc::gen::inRange<std::size_t>(1, 300);
  const int shards = *rc::gen::inRange(1, 12);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 100);
  std::vector<std::size_t> all;
  for (int index = 1; index <= shards; ++index)
    for (const std::size_t point : OrderOf(points, seed, {index, shards})) all.push_back(point);
  std::sort(all.begin(), all.end());
  RC_ASSERT(all.size() == points);
  for (std::size_t i = 0; i < points; ++i) RC_ASSERT(all[i] == i);
}

TEST(Order, DependsOnTheSeed) {
  EXPECT_EQ(OrderOf(50, 1, {}), OrderOf(50, 1, {}));
  EXPECT_NE(OrderOf(50, 1, {}), OrderOf(50, 2, {}));
}

}  // namespace
}  // namespace pipesim::sweep
