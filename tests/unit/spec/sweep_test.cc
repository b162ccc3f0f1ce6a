// The axes of a sweep: grammar, places of problems, the points that they span.
#include "spec/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/text.h"
#include "support.h"

namespace pipesim::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ShortKey kShort[] = {{"workers", "loader.workers"},
                               {"batch", "loader.batch_size"},
                               {"prepare", "prepare", [](std::string_view cost) {
                                  return "{kind: burn, cost: " + std::string(cost) + "}";
                                }}};

Sweep AxesOf(const std::vector<std::string>& typed) { return ReadAxes({}, {}, typed, kShort); }

std::vector<std::string> ValuesOf(const std::string& values) {
  const Sweep sweep = AxesOf({"workers=" + values});
  std::vector<std::string> texts;
  for (const auto& each : sweep.axes.at(0).values) texts.push_back(each.at(0).text);
  return texts;
}

/// "what => suggestion" of the only problem, with the caret's column before it.
std::string ProblemOf(const std::vector<std::string>& typed) {
  try {
    AxesOf(typed);
  } catch (const base::ConfigError& error) {
    if (error.problems().size() != 1) return "several: " + std::string(error.what());
    const base::Problem& problem = error.problems().front();
    return std::to_string(problem.column) + " " + problem.what + " => " + problem.suggestion;
  }
  return "none";
}

TEST(AxisValues, ListsRangesAndFactors) {
  EXPECT_THAT(ValuesOf("0,1,2,4"), ElementsAre("0", "1", "2", "4"));
  EXPECT_THAT(ValuesOf("1:4:1"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(ValuesOf("1:10:4"), ElementsAre("1", "5", "9"));  // ends at the last step
  EXPECT_THAT(ValuesOf("16:128:*2"), ElementsAre("16", "32", "64", "128"));
  EXPECT_THAT(ValuesOf("0,1:8:*2"), ElementsAre("0", "1", "2", "4", "8"));
  EXPECT_THAT(ValuesOf("7"), ElementsAre("7"));
}

TEST(AxisValues, RangesAreExactAndKeepTheirUnit) {
  EXPECT_THAT(ValuesOf("0.1:0.5:0.1"), ElementsAre("0.1", "0.2", "0.3", "0.4", "0.5"));
  EXPECT_THAT(ValuesOf("0:3ms:1.5ms"), ElementsAre("0ms", "1.5ms", "3ms"));
  EXPECT_THAT(ValuesOf("100MB/s:800MB/s:*2"),
              ElementsAre("100MB/s", "200MB/s", "400MB/s", "800MB/s"));
  EXPECT_THAT(ValuesOf("1:4:*1.5"), ElementsAre("1", "1.5", "2.25", "3.375"));
}

TEST(AxisValues, OtherColonsAndBracketsAreValues) {
  EXPECT_THAT(ValuesOf("cuda:0,cpu"), ElementsAre("cuda:0", "cpu"));
  EXPECT_THAT(ValuesOf("{preset: hdd, iops: 5},'a,b'"),
              ElementsAre("{preset: hdd, iops: 5}", "'a,b'"));
}

TEST(AxisValues, ZippedKeysChangeTogether) {
  const Sweep sweep = AxesOf({"workers+loader.prefetch_factor=1+2,3+4"});
  ASSERT_EQ(sweep.axes.size(), 1u);
  EXPECT_THAT(sweep.axes[0].keys, ElementsAre("loader.workers", "loader.prefetch_factor"));
  EXPECT_EQ(sweep.axes[0].values[1][1].text, "4");
  EXPECT_EQ(sweep.axes[0].LabelAt(1), "3+4");
}

TEST(AxisValues, ShortNamesHaveTheirOwnForm) {
  const Sweep sweep = AxesOf({"prepare=1ms,2ms"});
  EXPECT_THAT(sweep.axes[0].keys, ElementsAre("prepare"));
  EXPECT_EQ(sweep.axes[0].values[1][0].text, "{kind: burn, cost: 2ms}");
  EXPECT_EQ(sweep.axes[0].LabelAt(1), "2ms");
}

TEST(AxisValues, ProblemsHaveTheirPlaceAndASuggestion) {
  EXPECT_EQ(ProblemOf({"workrs=1"}), "8 unknown key 'workrs' of an axis => workers");
  EXPECT_EQ(ProblemOf({"num_workers=1"}),
            "8 unknown key 'num_workers' of an axis => loader.workers");
  EXPECT_THAT(ProblemOf({"workers"}), HasSubstr("8 an axis is KEY=VALUES"));
  EXPECT_THAT(ProblemOf({"workers=1,,2"}), HasSubstr("18 a value is missing here"));
  EXPECT_THAT(ProblemOf({"workers=1,2:8"}), HasSubstr("18 '2:8': a range is FROM:TO:STEP"));
  EXPECT_THAT(ProblemOf({"workers=8:1:1"}), HasSubstr("FROM is above TO"));
  EXPECT_THAT(ProblemOf({"workers=1:8:0"}), HasSubstr("a step must be above 0"));
  EXPECT_THAT(ProblemOf({"workers=1:8:*1"}), HasSubstr("a factor must be above 1"));
  EXPECT_THAT(ProblemOf({"workers=1:99999:1"}), HasSubstr("more than 10000 values"));
  EXPECT_THAT(ProblemOf({"prepare=1ms:5us:1us"}), HasSubstr("the same unit"));
  EXPECT_THAT(ProblemOf({"workers+batch=1+2,3"}), HasSubstr("26 '3' has 1 value for 2 keys"));
  EXPECT_THAT(ProblemOf({"workers=1,2,1"}), HasSubstr("20 '1' is twice on this axis"));
  EXPECT_THAT(ProblemOf({"workers=1", "loader.workers+batch=1+2"}),
              HasSubstr("loader.workers is in two axes"));
  EXPECT_THAT(ProblemOf({"run.repeats=1,2"}), HasSubstr("=> sweep.repeats: 3"));
  EXPECT_THAT(ProblemOf({"workers=1:2000:1", "batch=1:2000:1"}),
              HasSubstr("more than 1000000 points"));
}

TEST(AxisValues, ALaterAxisOfTheSameKeyWins) {
  const Sweep sweep = AxesOf({"workers=1,2", "loader.workers=3"});
  ASSERT_EQ(sweep.axes.size(), 1u);
  EXPECT_EQ(sweep.Points(), 1u);
  const Sweep two = AxesOf({"workers=1,2", "batch=8,16", "workers=4"});
  ASSERT_EQ(two.axes.size(), 2u);
  EXPECT_THAT(two.axes[0].keys, ElementsAre("loader.workers")) << "in the earlier one's place";
}

/// The axes of a file, through an override, as both are one tree.
Sweep AxesOfYaml(const std::string& axes) {
  return ReadAxes({.file = std::nullopt, .overrides = {Set("sweep.axes", axes)}}, {}, {}, {});
}

TEST(SweepSection, ReadsListsRangesMapsAndPairs) {
  const Sweep sweep = AxesOfYaml(
      "{loader.workers: [0, '1:4:*2'], loader.batch_size: '16:32:16', "
      "device: [cpu, {emulated: {base: 1ms}}], "
      "limits.worker_threads+limits.compute_threads: [[1, 2], 2+4]}");
  ASSERT_EQ(sweep.axes.size(), 4u);
  EXPECT_EQ(sweep.axes[0].values.size(), 4u);
  EXPECT_EQ(sweep.axes[1].values[1][0].text, "32");
  EXPECT_EQ(sweep.axes[2].values[1][0].text, "{emulated: {base: 1ms}}");
  EXPECT_EQ(sweep.axes[3].LabelAt(0), "1+2");
  EXPECT_EQ(sweep.axes[3].LabelAt(1), "2+4");
}

TEST(SweepSection, IsCheckedWithTheExperiment) {
  const auto problems = ProblemsOf(
      "loader: {workers: 1}\n"
      "sweep:\n"
      "  repeats: none\n"
      "  axes: {loader.wrkers: [1, 2]}\n");
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].line, 3);
  EXPECT_EQ(problems[1].line, 4);
  EXPECT_EQ(problems[1].column, 10);
  EXPECT_EQ(problems[1].suggestion, "loader.workers");
}

TEST(SweepSection, APointIsReadWithThePlacesOfItsAxis) {
  const Sweep sweep = AxesOf({"batch=64", "workers=0,four"});
  try {
    ReadExperiment({.file = std::nullopt, .overrides = OverridesAt(sweep, 1)}, ProjectFolders());
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_EQ(error.problems().front().column, 18);
    EXPECT_EQ(error.problems().front().source_line, "--axis workers=0,four");
  }
  const auto good =
      ReadExperiment({.file = std::nullopt, .overrides = OverridesAt(sweep, 0)}, ProjectFolders());
  EXPECT_EQ(good.experiment.loader.batch_size, 64);
}

RC_GTEST_PROP(SweepProperties, EachPointHasItsOwnPosition, ()) {
  Sweep sweep;
  for (int axis = *rc::gen::inRange(1, 4); axis > 0; --axis) {
    sweep.axes.push_back({{"k"}, {}});
    sweep.axes.back().values.resize(*rc::gen::inRange<std::size_t>(1, 6));
  }
  std::set<std::vector<std::size_t>> positions;
  for (std::size_t point = 0; point < sweep.Points(); ++point) {
    const auto position = sweep.PositionOf(point);
    RC_ASSERT(sweep.PointAt(position) == point);
    RC_ASSERT(positions.insert(position).second);
  }
}

RC_GTEST_PROP(SweepProperties, ARangeHoldsExactlyItsSteps, ()) {
  const int from = *rc::gen::inRange(0, 1000), step = *rc::gen::inRange(1, 50);
  const int to = from + *rc::gen::inRange(0, 1000);
  const auto texts =
      ValuesOf(std::to_string(from) + ":" + std::to_string(to) + ":" + std::to_string(step));
  RC_ASSERT(texts.size() == static_cast<std::size_t>((to - from) / step + 1));
  for (std::size_t i = 0; i < texts.size(); ++i)
    RC_ASSERT(texts[i] == std::to_string(from + static_cast<int>(i) * step));
}

RC_GTEST_PROP(SweepProperties, AnyTextIsReadOrReported, (const std::string& typed)) {
  try {
    AxesOf({typed});
    AxesOf({"workers=" + typed});
  } catch (const base::ConfigError& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace pipesim::spec
