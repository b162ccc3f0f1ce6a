// The test between two rates: how often it errs, how often it finds, and its closed forms.
#include "compare/estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/portable_math.h"
#include "base/random.h"
#include "base/stats.h"
#include "measure/measurement.h"
#include "support/sanitized.h"
#include "support/trace_builder.h"

namespace pipesim::compare {
namespace {

using tests::Ms;

/// `count` rates around 1,000 × (1 + shift) with the standard deviation `noise`, relative.
std::vector<double> Rates(std::uint64_t seed, std::size_t count, double noise, double shift = 0) {
  base::KeyedStream stream(seed, base::Stage::kStep);
  std::vector<double> rates;
  for (std::size_t i = 0; i < count; ++i)
    rates.push_back(1000 * (1 + shift) * (1 + noise * base::NormalQuantile(stream.NextUnit())));
  return rates;
}

/// Fewer under sanitizers, which look for other faults than a wrong share.
constexpr int kPairs = support::kSanitized ? 40 : 1000;
constexpr int kMostDifferent = support::kSanitized ? 4 : kPairs / 50;

Call CallOf(const std::vector<double>& a, const std::vector<double>& b,
            std::optional<double> threshold = std::nullopt) {
  return Judge(Compare(*FromRepeats(a), *FromRepeats(b)), threshold);
}

bool IsDifferent(Call call) { return call == Call::kFaster || call == Call::kSlower; }

TEST(Welch, AgreesWithAWorkedExample) {
  // Logs 1, 2, 3, 4 and 2, 4, 6, 8, 10: means 2.5 and 6, variances 5/3 and 10. Error
  // sqrt(5/12 + 2) = 1.5546, degrees (29/12)^2 / ((5/12)^2 / 3 + 2^2 / 4) = 5.5207.
  const auto of = [](std::vector<double> logs) {
    for (double& each : logs) each = std::exp(each);
    return *FromRepeats(logs);
  };
  const Difference difference = Compare(of({1, 2, 3, 4}), of({2, 4, 6, 8, 10}));
  EXPECT_NEAR(std::log1p(difference.change), 3.5, 1e-9);
  // Student's t at 95 % is 2.5706 for 5 degrees and 2.4469 for 6; between them 2.4993.
  EXPECT_NEAR(std::log1p(*difference.high) - 3.5, 2.4993 * 1.5546, 0.01);
  EXPECT_NEAR(3.5 - std::log1p(*difference.low), 2.4993 * 1.5546, 0.01);
  EXPECT_FALSE(difference.significant);  // at 99 %: about 3.85 × 1.55 = 5.99
}

TEST(Welch, CallsAtMostTwoOfAHundredEqualPairsDifferent) {
  for (const std::size_t repeats : {5u, 8u, 20u}) {
    int different = 0;
    for (std::uint64_t pair = 0; pair < 1000; ++pair)
      different +=
          IsDifferent(CallOf(Rates(2 * pair, repeats, 0.05), Rates(2 * pair + 1, repeats, 0.05)));
    EXPECT_LE(different, 20) << repeats << " repeats";
    RecordProperty("different_of_1000_at_" + std::to_string(repeats), different);
  }
}

TEST(Welch, FindsFivePercentBehindTwoPercentOfNoiseWithEightRepeats) {
  int slower = 0;
  for (std::uint64_t pair = 0; pair < 1000; ++pair)
    slower +=
        CallOf(Rates(2 * pair, 8, 0.02), Rates(2 * pair + 1, 8, 0.02, -0.05)) == Call::kSlower;
  EXPECT_GE(slower, 950);
  RecordProperty("found_of_1000", slower);
}

/// A run of steps of 10 ms, each with a rest that resembles that of the step before it: a standard
/// deviation of 10 %, of which the mean of 2,000 steps keeps 1 % and not 0.2 %.
std::optional<Estimate> AutocorrelatedRun(std::uint64_t seed, std::int64_t steps,
                                          double slower = 1) {
  constexpr double kResembles = 0.9, kNoise = 0.1;
  tests::Pipeline pipeline{.workers = 1, .steps = steps, .forward = Ms(4)};
  std::vector<double> rests;
  base::KeyedStream stream(seed, base::Stage::kStep);
  double state = 0;
  for (std::int64_t step = 0; step <= pipeline.steps; ++step) {
    state = kResembles * state +
            std::sqrt(1 - kResembles * kResembles) * base::NormalQuantile(stream.NextUnit());
    rests.push_back(std::max(0.0, 0.010 * slower * (1 + kNoise * state) - 0.004));
  }
  pipeline.extra = [&rests](std::int64_t step) {
    return base::FromSeconds(rests[static_cast<std::size_t>(step) % rests.size()]);
  };
  const spec::Experiment experiment = tests::ExperimentOf(pipeline);
  const measure::Result result =
      measure::Measure(tests::TraceOf(pipeline), experiment, cost::Stated(experiment)).result;
  const Method method = ReadMethod(result.samples_per_s_interval->method);
  return FromInterval(*result.samples_per_s, result.samples_per_s_interval->low,
                      result.samples_per_s_interval->high, method.count, method.unit);
}

TEST(Blocks, OfAutocorrelatedRunsCallAtMostTwoOfAHundredEqualPairsDifferent) {
  int different = 0, without_floor = 0;
  for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
    const auto a = AutocorrelatedRun(2 * pair, 2000), b = AutocorrelatedRun(2 * pair + 1, 2000);
    ASSERT_EQ(a->unit, Unit::kBlocks);
    Difference difference = Compare(*a, *b);
    different += IsDifferent(Judge(difference, std::nullopt));
    difference.noise_floor = 0;
    without_floor += IsDifferent(Judge(difference, std::nullopt));
  }
  EXPECT_LE(different, kMostDifferent);
  // The floor is not what keeps them apart: the blocks are long enough.
  EXPECT_LE(without_floor, kMostDifferent * 3 / 2);
  RecordProperty("different_of_1000", different);
  RecordProperty("without_floor_of_1000", without_floor);
}

TEST(Blocks, OfAutocorrelatedRunsFindFivePercent) {
  int slower = 0;
  constexpr int kTried = 3 * kPairs / 10;
  for (std::uint64_t pair = 0; pair < kTried; ++pair)
    slower += Judge(Compare(*AutocorrelatedRun(2 * pair, 4000),
                            *AutocorrelatedRun(2 * pair + 1, 4000, 1 / 0.95)),
                    std::nullopt) == Call::kSlower;
  EXPECT_GE(slower, kTried * 95 / 100 - (support::kSanitized ? 2 : 0));
  RecordProperty("found_of_" + std::to_string(kTried), slower);
}

TEST(Estimate, OfAnIntervalIsThatOfTheRatesItWasMadeFrom) {
  const std::vector<double> rates = {980, 1000, 1020, 1010, 990};
  const double mean = 1000, half = *base::HalfWidth(rates, 0.95);
  const Estimate direct = *FromRepeats(rates);
  const Estimate read = *FromInterval(mean, mean - half, mean + half, 5, Unit::kRepeats);
  EXPECT_NEAR(read.rate, direct.rate, 0.2);
  EXPECT_NEAR(read.standard_error, direct.standard_error, 0.01 * direct.standard_error);
}

TEST(Estimate, OfARateThatCouldBeAnythingLeavesTheChangeOpen) {
  const Estimate wild = *FromInterval(4680, 4647, 4.7e27, 20, Unit::kBlocks);
  const Difference difference = Compare(wild, wild);
  EXPECT_FALSE(difference.low);
  EXPECT_FALSE(difference.high);
  EXPECT_EQ(Judge(difference, std::nullopt), Call::kUnsure);
}

TEST(Estimate, ReadsHowAnIntervalWasMade) {
  EXPECT_EQ(ReadMethod("batch means (24)").count, 24u);
  EXPECT_EQ(ReadMethod("batch means (24)").unit, Unit::kBlocks);
  EXPECT_EQ(ReadMethod("repeats (5)").unit, Unit::kRepeats);
  EXPECT_EQ(ReadMethod("").unit, Unit::kNone);
  EXPECT_FALSE(FromRepeats(std::vector<double>{100, 0}));
  EXPECT_FALSE(FromInterval(0, 0, 0, 5, Unit::kRepeats));
}

TEST(Judge, NeedsFiveRepeatsToCallRatesTheSame) {
  const std::vector<double> four = {1000, 1001, 999, 1000}, five = {1000, 1001, 999, 1000, 1000};
  EXPECT_EQ(CallOf(five, five), Call::kSame);
  EXPECT_EQ(CallOf(five, four), Call::kUnsure);
  EXPECT_EQ(CallOf({1000}, {1000}), Call::kUnsure);
  // Two a side decide where the difference is plain.
  EXPECT_EQ(CallOf({1000, 1001}, {2000, 2002}), Call::kFaster);
}

TEST(Judge, LeavesDifferencesBelowTheNoiseFloorUncalled) {
  // Significant by far, yet 0.3 % is less than two runs of one program may differ by.
  const std::vector<double> a = {1000, 1000.1, 999.9, 1000, 1000.05};
  std::vector<double> b;
  for (const double rate : a) b.push_back(rate * 1.003);
  const Difference difference = Compare(*FromRepeats(a), *FromRepeats(b));
  EXPECT_TRUE(difference.significant);
  EXPECT_EQ(difference.noise_floor, 0.005);
  EXPECT_EQ(Judge(difference, std::nullopt), Call::kSame);
}

TEST(Judge, TakesTheNoiseFloorFromRepeatsAndTwoPercentFromBlocks) {
  // A deviation of 0.79 % of one repeat; twice that.
  const std::vector<double> rates = {990, 995, 1000, 1005, 1010};
  EXPECT_NEAR(Compare(*FromRepeats(rates), *FromRepeats(rates)).noise_floor, 0.0158, 1e-4);
  const Estimate blocks = *FromInterval(1000, 999, 1001, 20, Unit::kBlocks);
  EXPECT_EQ(Compare(blocks, blocks).noise_floor, 0.02);
  EXPECT_EQ(Judge(Compare(blocks, blocks), std::nullopt), Call::kSame);
}

TEST(Judge, TakesAThresholdAsTheMarginOfSame) {
  // ± 2.7 %: beyond the noise floor of 2 %, within 5 %.
  const std::vector<double> a = {970, 985, 1000, 1015, 1030}, b = {972, 985, 1000, 1015, 1028};
  EXPECT_EQ(CallOf(a, b), Call::kUnsure);
  EXPECT_EQ(CallOf(a, b, 0.05), Call::kSame);
}

TEST(Judge, HasNoNoiseInPredictions) {
  const Estimate a = *FromPrediction(1000), more = *FromPrediction(1000.001);
  EXPECT_EQ(Judge(Compare(a, a), std::nullopt), Call::kSame);
  EXPECT_EQ(Judge(Compare(a, more), std::nullopt), Call::kFaster);
  EXPECT_EQ(Judge(Compare(more, a), std::nullopt), Call::kSlower);
  // Against a run the run's noise counts.
  const Estimate run = *FromRepeats(std::vector<double>{990, 1000, 1010, 1000, 1000});
  EXPECT_EQ(Judge(Compare(more, run), std::nullopt), Call::kSame);
}

TEST(Regression, IsCertainOpenOrNone) {
  const auto of = [](double change, double low, double high) {
    Difference difference;
    difference.change = change;
    difference.low = low;
    difference.high = high;
    return RegressionOf(difference, 0.05);
  };
  EXPECT_EQ(of(-0.08, -0.09, -0.07), Regression::kYes);
  EXPECT_EQ(of(-0.03, -0.08, 0.03), Regression::kOpen);
  EXPECT_EQ(of(-0.06, -0.08, -0.04), Regression::kOpen);
  EXPECT_EQ(of(-0.03, -0.04, -0.02), Regression::kNo);
  EXPECT_EQ(of(0.5, 0.4, 0.6), Regression::kNo);
  EXPECT_EQ(RegressionOf(Difference{}, 0.05), Regression::kOpen);  // one run, no interval
}

}  // namespace
}  // namespace pipesim::compare
