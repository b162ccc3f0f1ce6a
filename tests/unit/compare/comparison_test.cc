// Which points are compared, where the time moved, what was promised, what is not alike.
#include "compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipesim::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Side RunSide(const std::string& name, double rate, const Settings& settings) {
  Side side;
  side.name = name;
  side.settings = settings;
  for (const auto& [key, value] : settings) side.origins[key] = "flag";
  side.circumstances = {{"machine", "on here"}, {"version", "1.0"}};
  Point point;
  point.rate = FromRepeats(std::vector<double>{rate, rate * 1.001, rate * 0.999, rate, rate});
  side.points.push_back(point);
  return side;
}

Point PointAt(const Settings& at, double rate) {
  Point point;
  point.at = at;
  for (const auto& [key, value] : at) point.name += (point.name.empty() ? "" : " ") + value;
  if (rate > 0) point.rate = FromPrediction(rate);
  return point;
}

Side SweepSide(const std::vector<std::string>& keys, const Settings& settings,
               std::vector<Point> points) {
  Side side;
  side.is_sweep = true;
  for (const std::string& key : keys) side.axes.emplace_back(key, key);
  side.settings = settings;
  side.points = std::move(points);
  return side;
}

std::vector<std::string> Keys(const std::vector<ChangedSetting>& changed) {
  std::vector<std::string> keys;
  for (const ChangedSetting& each : changed) keys.push_back(each.key);
  return keys;
}

TEST(Changed, LeavesOutWhatFollowsFromAPresetAndHowLongItRan) {
  Side a =
      RunSide("a", 1, {{"storage.preset", "hdd"}, {"storage.latency", "11ms"}, {"run.seed", "1"}});
  Side b =
      RunSide("b", 1, {{"storage.preset", "nvme"}, {"storage.latency", "45us"}, {"run.seed", "2"}});
  a.origins["storage.latency"] = b.origins["storage.latency"] = "preset";
  const auto changed = [&] { return Keys(ChangedSettings(a, a.points[0], b, b.points[0])); };
  EXPECT_THAT(changed(), ElementsAre("storage.preset"));
  b.origins["storage.latency"] = "flag";  // typed beside the preset
  EXPECT_THAT(changed(), ElementsAre("storage.latency", "storage.preset"));
}

TEST(Changed, ASweepHasTheSettingsOfThePointThatIsCompared) {
  const Side run = RunSide("a", 1, {{"model.name", "resnet18"}, {"dataset.classes", "1000"}});
  Point small = PointAt({{"model", "mlp"}}, 1), large = PointAt({{"model", "resnet18"}}, 1);
  small.settings = {{"model.name", "mlp"}, {"dataset.classes", "10"}};
  large.settings = {{"model.name", "resnet18"}, {"dataset.classes", "1000"}};
  const Side sweep = SweepSide({"model"}, {}, {small, large});
  const Comparison comparison = CompareSides({run, sweep}, 1, {});
  ASSERT_EQ(comparison.points.size(), 1u);
  EXPECT_THAT(Keys(comparison.changed), IsEmpty());
  EXPECT_THAT(comparison.cautions, IsEmpty());
  small.settings["dataset.classes"] = "9";
  large.settings["dataset.classes"] = "100";
  const Comparison swept = CompareSides({sweep, SweepSide({"model"}, {}, {small, large})}, 1, {});
  ASSERT_THAT(Keys(swept.changed), ElementsAre("dataset.classes"));
  EXPECT_EQ(swept.changed[0].a, "10, 1000");
  EXPECT_EQ(swept.changed[0].b, "9, 100");
}

TEST(Match, TakesPointsOfEqualConfiguration) {
  const Side a = SweepSide({"loader.workers", "loader.batch_size"}, {},
                           {PointAt({{"loader.workers", "1"}, {"loader.batch_size", "64"}}, 1),
                            PointAt({{"loader.workers", "2"}, {"loader.batch_size", "64"}}, 1),
                            PointAt({{"loader.workers", "2"}, {"loader.batch_size", "32"}}, 1)});
  // The other sweep has one axis; its batch size is a plain setting.
  const Side b =
      SweepSide({"loader.workers"}, {{"loader.batch_size", "64"}},
                {PointAt({{"loader.workers", "2"}}, 1), PointAt({{"loader.workers", "8"}}, 1)});
  const Match match = MatchPoints(a, b);
  EXPECT_THAT(match.pairs, ElementsAre(Pair(1, 0)));
  EXPECT_THAT(match.only_a, testing::SizeIs(2));
  EXPECT_THAT(match.only_b, ElementsAre("8"));
}

TEST(Match, TakesARunAsASweepOfOnePoint) {
  const Side sweep = SweepSide(
      {"storage"}, {}, {PointAt({{"storage", "hdd"}}, 1), PointAt({{"storage", "nvme"}}, 1)});
  const Side run = RunSide("run", 1, {{"storage.preset", "nvme"}});
  EXPECT_THAT(MatchPoints(sweep, run).pairs, ElementsAre(Pair(1, 0)));
}

Point PointOfWorkers(const std::string& workers, double rate) {
  return PointAt({{"loader.workers", workers}}, rate);
}

Side WorkersSide(std::vector<Point> points) {
  return SweepSide({"loader.workers"}, {}, std::move(points));
}

TEST(Missing, CountsThePointsThatAnotherSweepDoesNotHold) {
  const Side a = WorkersSide({PointOfWorkers("1", 100), PointOfWorkers("2", 200),
                              PointOfWorkers("4", 0), PointOfWorkers("8", 0)});
  const Side b = WorkersSide({PointOfWorkers("1", 100), PointOfWorkers("8", 0)});
  // 2 workers have a rate in A alone; 4 have none there either.
  const Comparison comparison = CompareSides({a, b}, 1, {.threshold = 0.05});
  EXPECT_EQ(comparison.missing, 1u);
  EXPECT_EQ(TallyOf({comparison}).missing, 1u);
  EXPECT_EQ(TallyOf({comparison}).regressions, 0u);  // 8 workers failed in A, too
  const Side run = RunSide("run", 100, {{"loader.workers", "1"}});
  EXPECT_EQ(CompareSides({a, run}, 1, {}).missing, 0u);
}

TEST(Missing, APointThatFailsNowIsARegression) {
  const Side a = WorkersSide({PointOfWorkers("1", 100)});
  const Side b = WorkersSide({PointOfWorkers("1", 0)});
  EXPECT_EQ(CompareSides({a, b}, 1, {.threshold = 0.05}).points[0].regression, Regression::kYes);
}

TEST(Match, NamesTheKeysWhereNothingMatches) {
  const Side a = SweepSide({"loader.workers"}, {}, {PointAt({{"loader.workers", "1"}}, 1)});
  const Side b = SweepSide({"loader.workers"}, {}, {PointAt({{"loader.workers", "2"}}, 1)});
  EXPECT_THAT(MatchPoints(a, b).pairs, IsEmpty());
  EXPECT_EQ(WhyNothingMatches(a, b), "loader.workers: 1 there, 2 here");
}

TEST(Promise, CountsOnlyForExactlyTheChangeThatWasMade) {
  Side a = RunSide("a", 1000, {{"storage.preset", "hdd"}, {"loader.workers", "4"}});
  a.points[0].promises = {{{{"storage", "nvme"}}, 2000},
                          {{{"storage", "nvme"}, {"loader.workers", "6"}}, 3000}};
  const auto promised = [&](const Settings& settings, double rate) {
    const Side b = RunSide("b", rate, settings);
    return CompareSides({a, b}, 1, {}).points[0].promised;
  };
  const auto both = promised({{"storage.preset", "nvme"}, {"loader.workers", "6"}}, 2500);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->samples_per_s, 3000);
  EXPECT_NEAR(both->error, 3000.0 / 2500 - 1, 1e-3);
  EXPECT_EQ(promised({{"storage.preset", "nvme"}, {"loader.workers", "4"}}, 2000)->samples_per_s,
            2000);
  EXPECT_FALSE(promised({{"storage.preset", "nvme"}, {"loader.workers", "8"}}, 2000));
  EXPECT_FALSE(promised({{"storage.preset", "hdd"}, {"loader.workers", "4"}}, 1000));
}

Partition PartitionOf(const std::string& clock, double busy, double starved) {
  return {clock, 100, 6400, {{"busy", busy}, {"starved", starved}}};
}

double Sum(const StepMoves& step) {
  double sum = 0;
  for (const Move& move : step.moves) sum += move.b_s - move.a_s;
  return sum;
}

TEST(Moves, AddUpToTheDifferenceOfTheStepOnOneClock) {
  Side a = RunSide("a", 1000, {}), b = RunSide("b", 1000, {});
  a.points[0].partitions = {PartitionOf("cuda", 1, 3), PartitionOf("consumer", 2, 2)};
  b.points[0].partitions = {PartitionOf("cuda", 1, 0.5), PartitionOf("consumer", 1, 0.5)};
  const StepMoves step = *CompareSides({a, b}, 1, {}).points[0].step;
  EXPECT_EQ(step.clock, "cuda");
  EXPECT_FALSE(step.per_sample);
  EXPECT_NEAR(Sum(step), 1.5 / 100 - 4.0 / 100, 1e-12);
  EXPECT_NEAR(step.moves[1].b_s - step.moves[1].a_s, -2.5 / 100, 1e-12);
}

TEST(Moves, AreOnTheConsumersClockWhereTheDevicesDiffer) {
  Side a = RunSide("a", 1000, {}), b = RunSide("b", 1000, {});
  a.points[0].partitions = {PartitionOf("cuda", 1, 3), PartitionOf("consumer", 2, 2)};
  b.points[0].partitions = {PartitionOf("consumer", 1, 0.5)};
  EXPECT_EQ(CompareSides({a, b}, 1, {}).points[0].step->clock, "consumer");
}

TEST(Moves, AreOfASampleWhereTheBatchSizesDiffer) {
  Side a = RunSide("a", 1000, {{"loader.batch_size", "64"}}),
       b = RunSide("b", 1000, {{"loader.batch_size", "128"}});
  a.points[0].partitions = b.points[0].partitions = {PartitionOf("consumer", 64, 0)};
  const StepMoves step = *CompareSides({a, b}, 1, {}).points[0].step;
  EXPECT_TRUE(step.per_sample);
  EXPECT_NEAR(step.moves[0].a_s, 0.01, 1e-12);
}

std::vector<std::string> Codes(const Comparison& comparison) {
  std::vector<std::string> codes;
  for (const Caution& caution : comparison.cautions) codes.push_back(caution.code);
  return codes;
}

TEST(Cautions, NameWhatShouldBeAlikeAndIsNot) {
  Side a = RunSide("a", 1000, {{"dataset.samples", "100"}, {"model.name", "mlp"}});
  Side b = RunSide("b", 1000, {{"dataset.samples", "200"}, {"model.name", "mlp"}});
  EXPECT_THAT(Codes(CompareSides({a, a}, 1, {})), IsEmpty());
  b.circumstances = {{"machine", "on there"}, {"version", "2.0"}};
  b.disturbances = {"Other programs used 2.3 of the 8 allowed cores."};
  const Comparison comparison = CompareSides({a, b}, 1, {});
  EXPECT_THAT(Codes(comparison), ElementsAre("machine", "version", "data", "disturbed"));
  EXPECT_THAT(comparison.cautions[0].text, HasSubstr("A on here, B on there"));
  EXPECT_THAT(comparison.cautions[2].text, HasSubstr("dataset.samples 100 in A, 200 in B"));
  EXPECT_THAT(comparison.cautions[3].text, HasSubstr("B was disturbed: "));
}

TEST(Tally, CountsCallsAndTakesAFailureAsARegression) {
  const auto at = [](const std::string& workers) { return Settings{{"loader.workers", workers}}; };
  const Side a = SweepSide(
      {"loader.workers"}, {},
      {PointAt(at("1"), 100), PointAt(at("2"), 100), PointAt(at("4"), 100), PointAt(at("8"), 100)});
  const Side b = SweepSide(
      {"loader.workers"}, {},
      {PointAt(at("1"), 90), PointAt(at("2"), 100), PointAt(at("4"), 200), PointAt(at("8"), 0)});
  const Tally tally = TallyOf({CompareSides({a, b}, 1, {.threshold = 0.05})});
  EXPECT_EQ(tally.points, 4u);
  EXPECT_EQ(tally.slower, 1u);
  EXPECT_EQ(tally.same, 1u);
  EXPECT_EQ(tally.faster, 1u);
  EXPECT_EQ(tally.failed, 1u);
  EXPECT_EQ(tally.regressions, 2u);  // 10 % less, and the one that failed
  EXPECT_EQ(tally.Overall(), Call::kSlower);
}

}  // namespace
}  // namespace pipesim::compare
