#include "base/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pipesim::base {
namespace {

void ExpectAsInStd(double value) {
  EXPECT_EQ(RoundToInteger(value), std::llround(value)) << value;
  EXPECT_EQ(CeilToInteger(value), static_cast<std::int64_t>(std::ceil(value))) << value;
}

TEST(Rounding, AtAndBesideHalvesAndWholeNumbers) {
  for (const double whole : {0.0, 1.0, 2.0, 1e6, 0x1p51, 0x1p52, 0x1p53, 0x1p62})
    for (const double value : {whole, whole + 0.5})
      for (const double toward : {0.0, HUGE_VAL}) ExpectAsInStd(std::nextafter(value, toward));
  for (const double value : {0.0, 0.5, 1.0, 1.5, 2.5}) ExpectAsInStd(value);
}

TEST(Rounding, OfDrawnValues) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-30, 62);
  for (int draw = 0; draw < 10'000; ++draw) ExpectAsInStd(std::exp2(exponent(random)));
}

}  // namespace
}  // namespace pipesim::base
