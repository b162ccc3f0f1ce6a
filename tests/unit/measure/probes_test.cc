#include "measure/probes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/measurement.h"
#include "measure/paired_gain.h"

namespace pipesim::measure {
namespace {

using namespace std::chrono_literals;

TEST(GainOfPairs, IsTheGeometricMeanWithStudentsInterval) {
  // ln 2 and ln 2 ± 0.1: mean ln 2, standard error 0.1 / sqrt 3, t(0.95, 2) = 4.3027
  const RatePair pairs[] = {{100, 200}, {50, 100 * std::exp(0.1)}, {80, 160 * std::exp(-0.1)}};
  const auto gain = GainOf(pairs, "pairs");
  ASSERT_TRUE(gain && gain->interval);
  EXPECT_NEAR(gain->gain, 1, 1e-9);
  const double half = 4.3027 * 0.1 / std::sqrt(3);
  EXPECT_NEAR(gain->interval->low, 2 * std::exp(-half) - 1, 1e-3);
  EXPECT_NEAR(gain->interval->high, 2 * std::exp(half) - 1, 1e-3);
  EXPECT_EQ(gain->interval->method, "pairs (3)");
}

TEST(GainOfPairs, OnePairHasNoIntervalAndNoneHasNoGain) {
  const RatePair one[] = {{100, 150}};
  ASSERT_TRUE(GainOf(one, "pairs"));
  EXPECT_NEAR(GainOf(one, "pairs")->gain, 0.5, 1e-9);
  EXPECT_FALSE(GainOf(one, "pairs")->interval);
  EXPECT_FALSE(GainOf({}, "pairs"));
  const RatePair nothing[] = {{0, 150}};
  EXPECT_FALSE(GainOf(nothing, "pairs"));
}

TEST(TriedIn, RatesAreThoseOfAllBlocks) {
  trace::Probes probes;
  probes.each.push_back({trace::ProbeKind::kFreeCompute,
                         "",
                         {{{1s, 100}, {1s, 200}}, {{3s, 300}, {1s, 200}}}});
  probes.each.push_back({trace::ProbeKind::kFreeData, "", {{{1s, 100}, {1s, 200}}}});
  const auto tried = TriedIn(probes, {});
  ASSERT_EQ(tried.size(), 1u);  // a single pair has no interval
  EXPECT_EQ(tried[0].kind, trace::ProbeKind::kFreeCompute);
  EXPECT_NEAR(tried[0].base_samples_per_s, 100, 1e-9);
  EXPECT_NEAR(tried[0].samples_per_s, 200, 1e-9);
  EXPECT_NEAR(tried[0].gain, 1, 1e-9);
}

TEST(TriedIn, WherePairsScatterWidelyTheWholeWindowIsTheBase) {
  Result result;
  result.samples_per_s = 50;
  result.samples_per_s_interval = Interval{48, 52, 0.95, "batch means"};
  const std::vector<trace::ProbePair> uneven = {
      {{1s, 20}, {1s, 200}}, {{1s, 100}, {1s, 200}}, {{1s, 50}, {1s, 200}}};
  trace::Probes probes;
  probes.each.push_back({trace::ProbeKind::kSetting, "compute threads 2 to 1", uneven});
  const auto tried = TriedIn(probes, result);
  ASSERT_EQ(tried.size(), 1u);
  // 200 over 50; the blocks with the change are alike, so the window's ± 4 % is all.
  EXPECT_NEAR(tried[0].gain, 3, 1e-9);
  EXPECT_NEAR(tried[0].gain_interval.high, 4 * 1.04 - 1, 1e-6);
  EXPECT_NEAR(tried[0].gain_interval.low, 4 / 1.04 - 1, 1e-6);
  EXPECT_GT(tried[0].base_half_width, 0.5);
  // Without a known window, pairs are all there is.
  EXPECT_GT(TriedIn(probes, {})[0].gain_interval.high, 10);
}

TEST(TriedIn, OfASettingBlocksAreKnownNoBetterThanTheRunsRateVaries) {
  // A pool in one of its states: blocks of 0.2 s in all are alike, and 30 % off a window that is known to 10 %.
  Result result;
  result.samples_per_s = 1000;
  result.samples_per_s_interval = Interval{900, 1100, 0.95, "batch means"};
  const std::vector<trace::ProbePair> alike(4, {{50ms, 35}, {50ms, 60}});
  trace::Probes probes;
  probes.each.push_back({trace::ProbeKind::kSetting, "compute threads 2 to 1", alike});
  probes.each.push_back({trace::ProbeKind::kFreeData, "", alike});
  const auto tried = [&](std::size_t probe) { return TriedIn(probes, result)[probe]; };
  EXPECT_NEAR(tried(0).gain, 60.0 / 35 - 1, 1e-9) << "it is not known how long the window was";
  result.measured_s = 4;
  EXPECT_NEAR(tried(0).gain, 1200.0 / 1000 - 1, 1e-9);
  EXPECT_NEAR(tried(0).gain_interval.high, 1.2 * 1.1 - 1, 1e-6);
  EXPECT_NEAR(tried(1).gain, 60.0 / 35 - 1, 1e-9) << "of free data only its side is asked";
}

TEST(TriedIn, AWindowThatTheMachineLeftBehindIsNoBase) {
  Result result;
  result.samples_per_s = 50;
  result.samples_per_s_interval = Interval{48, 52, 0.95, "batch means"};
  // The machine is half as fast again since, and every second pair of blocks is disturbed.
  std::vector<trace::ProbePair> pairs;
  for (int i = 0; i < 10; ++i)
    pairs.push_back(i % 2 == 0 ? trace::ProbePair{{1s, 70}, {1s, 140}}
                               : trace::ProbePair{{1s, 85}, {1s, 110}});
  trace::Probes probes;
  probes.each.push_back({trace::ProbeKind::kFreeData, "", pairs});
  const auto tried = TriedIn(probes, result);
  ASSERT_EQ(tried.size(), 1u);
  EXPECT_NEAR(tried[0].gain, std::sqrt(2 * 110.0 / 85) - 1, 1e-9);
  EXPECT_EQ(tried[0].gain_interval.method, "probes (10)");
}

TEST(TriedIn, ASettingBesideBlocksThatBecameSlowMayGainAsLittleAsOverTheWindow) {
  // Measured so on two processors: 14,901 samples/s in the window, a worker that makes 20,000 at most.
  Result result;
  result.samples_per_s = 14'901;
  result.samples_per_s_interval = Interval{14'852, 14'950, 0.95, "batch means"};
  result.measured_s = 3;
  const std::vector<trace::ProbePair> pairs = {
      {{100ms, 830}, {100ms, 1990}}, {{100ms, 930}, {100ms, 1985}}, {{100ms, 1020}, {100ms, 1985}}};
  trace::Probes probes;
  probes.each.push_back({trace::ProbeKind::kSetting, "compute threads 2 to 1", pairs});
  probes.each.push_back({trace::ProbeKind::kFreeData, "", pairs});
  const auto tried = TriedIn(probes, result);
  ASSERT_EQ(tried.size(), 2u);
  EXPECT_GT(tried[0].gain, 1.1);
  EXPECT_LT(tried[0].gain_interval.low, 19'860 / 14'901.0 - 1);
  EXPECT_GT(tried[0].gain_interval.low, 0.3);
  EXPECT_GT(tried[0].gain_interval.high, 1.5);
  EXPECT_GT(tried[1].gain_interval.low, 0.6) << "of free data only its side is asked";
  // However alike the pairs are.
  probes.each[0].pairs.assign(4, {{100ms, 1177}, {100ms, 1920}});
  EXPECT_NEAR(TriedIn(probes, result)[0].gain, 0.63, 0.01);
  EXPECT_LT(TriedIn(probes, result)[0].gain_interval.low, 0.29);
}

}  // namespace
}  // namespace pipesim::measure
