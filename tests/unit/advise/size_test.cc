// The search for a size on functions whose answer is known.
#include "advise/size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace pipesim::advise {
namespace {

/// A search in samples/s, with the number of values that it asked for.
struct Searched {
  SizeAnswer found;
  int asked = 0;
};
Searched Search(SizeQuestion question, double (*rate)(double)) {
  question.metric = Metric::kSamplesPerSecond;
  Searched searched;
  searched.found = FindSize(question, [&](double value) {
    ++searched.asked;
    return Rates{rate(value), std::nullopt};
  });
  return searched;
}

double TenEachUpTo640(double workers) { return std::min(10 * workers, 640.0); }
double ThreeEachUpTo100(double rate) { return std::min(3 * rate, 100.0); }

TEST(SizeOfWholeAxis, IsTheLeastThatReachesTheTarget) {
  for (const double target : {1.0, 10.0, 11.0, 55.0, 400.0, 631.0, 640.0}) {
    const Searched searched = Search({.target = target, .least = 0, .most = 1000}, TenEachUpTo640);
    ASSERT_TRUE(searched.found.answer) << target;
    EXPECT_EQ(searched.found.answer->value, std::ceil(target / 10)) << target;
    ASSERT_TRUE(searched.found.neighbor) << target;
    EXPECT_EQ(searched.found.neighbor->value, searched.found.answer->value - 1) << target;
    EXPECT_FALSE(searched.found.neighbor->meets) << target;
    EXPECT_LE(searched.asked, 16) << target;
  }
}

TEST(SizeOfWholeAxis, TheFirstValueMayBeTheAnswer) {
  const Searched searched =
      Search({.target = 5, .least = 0, .most = 1000}, [](double) { return 7.0; });
  EXPECT_EQ(searched.found.answer->value, 0);
  EXPECT_FALSE(searched.found.neighbor);
  EXPECT_EQ(searched.asked, 1);
}

TEST(SizeOfWholeAxis, GivesUpWhereTheRateNoLongerRisesAndNamesTheHighest) {
  const Searched searched = Search({.target = 641, .least = 0, .most = 100'000}, TenEachUpTo640);
  EXPECT_FALSE(searched.found.answer);
  ASSERT_TRUE(searched.found.best);
  EXPECT_EQ(searched.found.best->rates->samples_per_s, 640);
  EXPECT_LE(searched.asked, 30);
}

/// Contention: the peak, 100 at 11, lies between the values that doubling asks for.
double PeakAt11(double workers) { return 100 - 2 * std::abs(workers - 11); }

TEST(SizeOfWholeAxis, FindsAPeakBetweenItsStrides) {
  const Searched reached = Search({.target = 98, .least = 0, .most = 1000}, PeakAt11);
  ASSERT_TRUE(reached.found.answer);
  EXPECT_EQ(reached.found.answer->value, 10);
  const Searched missed = Search({.target = 101, .least = 0, .most = 1000}, PeakAt11);
  EXPECT_FALSE(missed.found.answer);
  EXPECT_EQ(missed.found.best->value, 11);
}

/// Of 1, 2, 4 and 8 the third is the best; beyond it the rate rises again, but to less.
double TwoPeaks(double cores) {
  constexpr double kRates[] = {3000, 6481, 7927, 7086, 6500, 6600, 6700, 6945};
  return cores < 1 ? 0 : kRates[std::min(static_cast<std::size_t>(cores), std::size(kRates)) - 1];
}

TEST(SizeOfWholeAxis, FindsTheHigherOfTwoPeaksBesideTheBestTry) {
  const Searched reached = Search({.target = 7500, .least = 1, .most = 64}, TwoPeaks);
  ASSERT_TRUE(reached.found.answer);
  EXPECT_EQ(reached.found.answer->value, 3);
  EXPECT_EQ(Search({.target = 8000, .least = 1, .most = 64}, TwoPeaks).found.best->value, 3);
}

TEST(SizeOfContinuousAxis, IsWithinOneStepOfTheTruthFromAnyStart) {
  for (const double start : {0.5, 20.0, 33.0, 1000.0}) {
    for (const double target : {3.0, 47.0, 99.0}) {
      SizeQuestion question{.target = target, .whole = false, .least = 1e-3, .most = 1e6};
      question.start = start;
      const Searched searched = Search(question, ThreeEachUpTo100);
      ASSERT_TRUE(searched.found.answer) << start << " " << target;
      EXPECT_GE(searched.found.answer->value, target / 3 * 0.9999) << start << " " << target;
      EXPECT_LE(searched.found.answer->value, target / 3 * 1.0105) << start << " " << target;
      EXPECT_FALSE(searched.found.neighbor->meets);
      EXPECT_LE(searched.asked, 24);
    }
  }
}

TEST(SizeOfContinuousAxis, GivesUpOnAPlateau) {
  SizeQuestion question{.target = 101, .whole = false, .least = 1e-3, .most = 1e9};
  const Searched searched = Search(question, ThreeEachUpTo100);
  EXPECT_FALSE(searched.found.answer);
  EXPECT_EQ(searched.found.best->rates->samples_per_s, 100);
  EXPECT_LE(searched.asked, 8);
}

/// Accelerators that share 100 units, each using up to 7.
SizeAnswer MostAccelerators(double target, double most) {
  const SizeQuestion question{.metric = Metric::kUtilization,
                              .target = target,
                              .least = 1,
                              .most = most,
                              .falls = true};
  return FindSize(question,
                  [](double n) { return Rates{n, std::min(1.0, 100 / (7 * n))}; });
}

TEST(SizeOfFallingAxis, IsTheMostThatKeepsTheTarget) {
  for (const double target : {1.0, 0.9, 0.5, 0.13}) {
    const SizeAnswer found = MostAccelerators(target, 1024);
    ASSERT_TRUE(found.answer) << target;
    EXPECT_EQ(found.answer->value, std::floor(100 / (7 * target))) << target;
    ASSERT_TRUE(found.neighbor) << target;
    EXPECT_FALSE(found.neighbor->meets) << target;
  }
}

TEST(SizeOfFallingAxis, EndsWithTheAxis) {
  const SizeAnswer found = MostAccelerators(0.9, 8);
  EXPECT_EQ(found.answer->value, 8);
  EXPECT_FALSE(found.neighbor);
  EXPECT_FALSE(MostAccelerators(1.5, 8).answer);
}

TEST(Size, AValueThatCannotRunDoesNotMeetTheTarget) {
  const SizeQuestion question{
      .metric = Metric::kSamplesPerSecond, .target = 95, .least = 0, .most = 1000};
  const SizeAnswer found = FindSize(question, [](double workers) -> std::optional<Rates> {
    if (workers > 9) return std::nullopt;
    return Rates{10 * workers, std::nullopt};
  });
  EXPECT_FALSE(found.answer);
  EXPECT_EQ(found.best->value, 9);
  EXPECT_FALSE(FindSize(question, [](double) { return std::nullopt; }).best);
}

}  // namespace
}  // namespace pipesim::advise
