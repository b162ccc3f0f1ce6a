#include "base/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"
#include "base/random.h"

namespace pipesim::base {
namespace {

using testing::ElementsAre;

// Standard normal noise.
std::vector<double> Noise(std::size_t count, std::uint64_t seed = 1) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(NormalQuantile(KeyedStream(seed, Stage::kStep, i).NextUnit()));
  return values;
}

TEST(Stats, MeanAndStdevOfAKnownSample) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(Mean(values), 5);
  EXPECT_DOUBLE_EQ(Stdev(values), std::sqrt(32.0 / 7));
}

TEST(Stats, AreDefinedForFewValues) {
  const std::vector<double> none, one = {3};
  EXPECT_EQ(Mean(none), 0);
  EXPECT_EQ(Stdev(one), 0);
  EXPECT_EQ(Quantile(none, 0.5), std::nullopt);
  EXPECT_EQ(Quantile(one, 0.9), 3);
  EXPECT_EQ(HalfWidth(one, 0.95), std::nullopt);
  EXPECT_EQ(Mser5(one), 0u);
  EXPECT_EQ(Autocorrelation1(one), 0);
}

TEST(QuantileTest, InterpolatesBetweenNeighbours) {
  const std::vector<double> values = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(*Quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(*Quantile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(*Quantile(values, 0.95), 38.5);  // 1 + 0.95 × 3 = 3.85: between 30 and 40
  EXPECT_DOUBLE_EQ(*Quantile(values, 1), 40);
}

RC_GTEST_PROP(QuantileTest, AgreesWithSorting, (std::vector<double> values)) {
  RC_PRE(!values.empty());
  const double q = *rc::gen::inRange(0, 101) / 100.0;
  const double quantile = *Quantile(values, q);
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  RC_ASSERT(quantile >= values[static_cast<std::size_t>(std::floor(place))]);
  RC_ASSERT(quantile <= values[static_cast<std::size_t>(std::ceil(place))]);
}

TEST(StudentTTest, MatchesTheTables) {
  EXPECT_NEAR(StudentT(0.95, 1), 12.706205, 1e-5);
  EXPECT_NEAR(StudentT(0.95, 2), 4.302653, 1e-5);
  EXPECT_NEAR(StudentT(0.95, 3), 3.182446, 1e-5);
  EXPECT_NEAR(StudentT(0.95, 10), 2.228139, 1e-5);
  EXPECT_NEAR(StudentT(0.95, 100), 1.983972, 1e-5);
  EXPECT_NEAR(StudentT(0.99, 4), 4.604095, 1e-5);
  EXPECT_NEAR(StudentT(0.99, 30), 2.749996, 1e-5);
  EXPECT_NEAR(StudentT(0.5, 5), 0.726687, 1e-5);
  EXPECT_NEAR(StudentT(0.95, 1'000'000), 1.959966, 1e-5);  // the normal's
}

TEST(HalfWidthTest, CoversTheTrueMeanAtItsLevel) {
  int covered = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<double> sample = Noise(8, seed);
    covered += std::abs(Mean(sample)) <= *HalfWidth(sample, 0.95);
  }
  EXPECT_NEAR(covered / 2000.0, 0.95, 0.02);  // 4 standard errors
}

TEST(Mser5Test, CutsASlowerStart) {
  std::vector<double> values = Noise(500);
  for (std::size_t i = 0; i < 60; ++i) values[i] += 20;
  EXPECT_EQ(Mser5(values), 60u);
}

TEST(Mser5Test, CutsADecayingStart) {
  std::vector<double> values = Noise(1000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 50 * std::exp(-static_cast<double>(i) / 40);
  const std::size_t cut = Mser5(values);
  EXPECT_GE(cut, 100u);  // the transient has decayed to 4 deviations
  EXPECT_LE(cut, 400u);
}

TEST(Mser5Test, LeavesASteadyRunAlone) { EXPECT_EQ(Mser5(std::vector<double>(200, 0.1)), 0u); }

RC_GTEST_PROP(Mser5Test, CutsWholeFivesAndAtMostHalf, (std::vector<double> values)) {
  const std::size_t cut = Mser5(values);
  RC_ASSERT(cut % 5 == 0);
  RC_ASSERT(2 * cut <= values.size());
}

TEST(Autocorrelation, SeparatesTrendsFromAlternation) {
  EXPECT_NEAR(Autocorrelation1(Noise(10'000)), 0, 0.05);
  std::vector<double> alternating, constant(100, 3.0);
  for (int i = 0; i < 1000; ++i) alternating.push_back(i % 2);
  EXPECT_NEAR(Autocorrelation1(alternating), -1, 0.01);
  EXPECT_EQ(Autocorrelation1(constant), 0);
}

// Of 20 throws at most 5 are heads with a probability of 2.07 %, at most 6 with 5.77 %.
TEST(IntervalOfMedian, LiesBetweenTheRanksOfTheBinomialDistribution) {
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  const auto interval = IntervalOfMedian(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 6);
  EXPECT_EQ(interval->high, 15);
}

TEST(IntervalOfMedian, OfSixValuesIsTheirRangeAndOfFiveUnknown) {
  const auto interval = IntervalOfMedian({3, 1, 2, 6, 5, 4});
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 6);
  EXPECT_EQ(IntervalOfMedian({1, 2, 3, 4, 5}), std::nullopt);
}

TEST(Stats, TheLineThroughPointsHasTheLeastSquares) {
  const Line exact = LineThrough({1, 2, 5}, {5, 7, 13});
  EXPECT_NEAR(exact.at_0, 3, 1e-12);
  EXPECT_NEAR(exact.slope, 2, 1e-12);
  // Means 1 and 2; slope (1 * 1 + 1 * 0) / 2
  EXPECT_NEAR(LineThrough({0, 1, 2}, {1, 3, 2}).At(2), 2.5, 1e-12);
}

}  // namespace
}  // namespace pipesim::base
