#include "app/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace pipesim::app {
namespace {

using testing::ElementsAre;

TEST(Arguments, FlagsWithoutACommandMeanRun) {
  EXPECT_EQ(ParseArguments({"--workers", "4"}).command->name, "run");
  EXPECT_EQ(ParseArguments({"a.yaml"}).command->name, "run");
  EXPECT_EQ(ParseArguments({"validate", "a.yaml"}).command->name, "validate");
}

TEST(Arguments, FlagsKeepTheirOrderSoThatALaterOneWins) {
  const spec::Request request =
      RequestOf(ParseArguments({"--workers", "4", "--set", "loader.workers=2", "--workers=8"}));
  ASSERT_EQ(request.overrides.size(), 3u);
  EXPECT_EQ(request.overrides[0].value, "4");
  EXPECT_EQ(request.overrides[1].path, "loader.workers");
  EXPECT_EQ(request.overrides[1].value, "2");
  EXPECT_EQ(request.overrides[2].value, "8");
}

TEST(Arguments, AListValueStaysWhole) {
  EXPECT_EQ(RequestOf(ParseArguments({"--cpus", "0-3,6"})).overrides[0].value, "0-3,6");
}

TEST(Arguments, AFolderWithColonsAndQuotesSurvivesAsYaml) {
  EXPECT_EQ(RequestOf(ParseArguments({"--data", "a: \"b\""})).overrides[0].value,
            R"({kind: files, path: "a: \"b\""})");
}

TEST(Arguments, ANegativeNumberIsAValueNotAFlag) {
  EXPECT_EQ(RequestOf(ParseArguments({"--steps", "-1"})).overrides[0].value, "-1");
}

TEST(Arguments, TwoFilesAreOneTooMany) {
  EXPECT_THROW(RequestOf(ParseArguments({"a.yaml", "b.yaml"})), base::UsageError);
}

TEST(Arguments, SetNeedsAnEqualsSign) {
  EXPECT_THROW(RequestOf(ParseArguments({"--set", "loader.workers"})), base::UsageError);
}

TEST(Arguments, AChangeReplacesEveryFlagOfItsKeyAndUsesTheShortOne) {
  const Arguments typed =
      ParseArguments({"a.yaml", "--workers", "4", "--batch", "256", "--set", "loader.workers=2"});
  EXPECT_THAT(WithChanges(typed, {{"loader.workers", "8"}}),
              ElementsAre("pipesim", "a.yaml", "--batch", "256", "--workers", "8"));
}

TEST(Arguments, AChangeWithoutAShortFlagIsASet) {
  EXPECT_THAT(WithChanges(ParseArguments({"--batch", "8"}), {{"loader.in_order", "false"}}),
              ElementsAre("pipesim", "--batch", "8", "--set", "loader.in_order=false"));
}

}  // namespace
}  // namespace pipesim::app
