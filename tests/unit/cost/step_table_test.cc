#include "cost/step_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

namespace pipesim::cost {
namespace {

using namespace std::chrono_literals;
using spec::StepPoint;

StepTable Table(std::vector<StepPoint> points) { return StepTable(points); }

TEST(StepTable, IsExactAtMeasuredBatchSizesAndLinearBetween) {
  const StepTable table = Table({{16, 100us}, {64, 196us}, {256, 1000us}});
  EXPECT_EQ(table.At(16), 100us);
  EXPECT_EQ(table.At(64), 196us);
  EXPECT_EQ(table.At(40), 148us);
  EXPECT_EQ(table.At(160), 598us);
  EXPECT_EQ(table.At(256), 1000us);
}

TEST(StepTable, AboveTheLargestBatchExtrapolatesWithinBounds) {
  const StepTable table = Table({{8, 80us}, {16, 100us}, {64, 196us}});
  EXPECT_TRUE(table.Covers(64));
  EXPECT_FALSE(table.Covers(65));
  EXPECT_EQ(table.At(128), 324us);
  // Steeper than proportional: the time per sample stays that of the largest batch.
  EXPECT_EQ(Table({{16, 100us}, {32, 400us}}).At(64), 800us);
  // Falling: the time per step stays that of the largest batch.
  EXPECT_EQ(Table({{16, 100us}, {32, 90us}}).At(64), 90us);
}

TEST(StepTable, BelowTheSmallestBatchExtrapolatesWithinBounds) {
  const StepTable table = Table({{16, 100us}, {32, 140us}});
  EXPECT_FALSE(table.Covers(15));
  EXPECT_EQ(table.At(8), 80us);
  // Steeper than proportional: the time per sample stays that of the smallest batch.
  EXPECT_EQ(Table({{16, 100us}, {32, 400us}}).At(8), 50us);
  // Falling: the time per step stays that of the smallest batch.
  EXPECT_EQ(Table({{16, 100us}, {32, 90us}}).At(8), 100us);
}

TEST(StepTable, ASingleBatchSizeScalesProportionally) {
  const StepTable table = Table({{64, 640us}});
  EXPECT_EQ(table.At(1), 10us);
  EXPECT_EQ(table.At(128), 1280us);
  EXPECT_TRUE(table.Covers(64));
}

TEST(StepTable, SortsPointsAndAveragesEqualBatchSizes) {
  const StepTable table = Table({{64, 300us}, {16, 100us}, {64, 200us}});
  EXPECT_EQ(table.At(64), 250us);
  EXPECT_EQ(table.smallest(), 16);
}

TEST(StepTable, RefusesAnEmptyTableAndEmptyBatches) {
  EXPECT_THROW(Table({}), std::invalid_argument);
  EXPECT_THROW(Table({{0, 1us}}), std::invalid_argument);
}

TEST(StepTable, ScaledTakesAsManyTimesAsLongAtAnyBatchSize) {
  const StepTable half = Table({{16, 100us}, {64, 200us}}).Scaled(0.5);
  EXPECT_EQ(half, Table({{16, 50us}, {64, 100us}}));
  EXPECT_EQ(Table({{16, 100us}, {64, 200us}}).Scaled(0).At(128), 0us);
}

RC_GTEST_PROP(StepTable, MoreSamplesNeverTakeLessOfATableThatGrows, ()) {
  std::vector<StepPoint> points;
  base::Duration time{};
  std::int64_t samples = 0;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    samples += *rc::gen::inRange<std::int64_t>(1, 1000);
    time += base::Duration(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
    points.push_back({samples, time});
  }
  const StepTable table(points);
  const auto n = *rc::gen::inRange<std::int64_t>(1, 6000);
  RC_ASSERT(table.At(n) <= table.At(n + 1));
}

}  // namespace
}  // namespace pipesim::cost
