#include "app/command_line/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace pipesim::app {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Refusal(const std::vector<std::string>& words) {
  try {
    ParseArguments(words);
  } catch (const base::UsageError& error) {
    return error.what();
  }
  return {};
}

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

TEST(Arguments, AFlagOfASectionGoesBeforeThoseOfItsParts) {
  const spec::Request request = RequestOf(ParseArguments(
      {"--set", "storage.latency=20ms", "--workers", "4", "--storage", "nvme", "--set", "storage.latency=30ms"}));
  std::vector<std::string> paths;
  for (const spec::Override& one : request.overrides) paths.push_back(one.path);
  EXPECT_THAT(paths, ElementsAre("storage", "storage.latency", "loader.workers", "storage.latency"));
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

TEST(Arguments, ASlipIsAnsweredWithTheNearestFlagWhateverFollows) {
  EXPECT_THAT(Refusal({"--wokers", "4", "a.yaml"}),
              AllOf(HasSubstr("unknown flag --wokers for `pipesim run`"),
                    HasSubstr("did you mean --workers?"), HasSubstr("--help` lists the flags")));
  EXPECT_THAT(Refusal({"--wokers=4"}), HasSubstr("unknown flag --wokers for"));
  EXPECT_THAT(Refusal({"-workers", "4"}), AllOf(HasSubstr("unknown flag -workers"),
                                                HasSubstr("did you mean --workers?")));
}

TEST(Arguments, AFlagOfAnotherCommandIsRefused) {
  EXPECT_THAT(Refusal({"run", "--profile", "here"}),
              HasSubstr("--profile is a flag of `pipesim predict`"));
  EXPECT_THAT(Refusal({"predict", "--prove"}),
              HasSubstr("--prove is a flag of `pipesim run`; `pipesim predict` has no use for it"));
  EXPECT_THAT(Refusal({"explain", "--workers", "1"}), HasSubstr("`pipesim explain` has no use for it"));
  EXPECT_EQ(Refusal({"predict", "--profile", "here"}), "");
}

TEST(Arguments, WhatIsNoFlagByItsFormIsUnknownToo) {
  for (const char* word : {"--w", "--=4", "--set.x=4", "--words?", "-1"})
    EXPECT_THAT(Refusal({word, "x"}), HasSubstr("unknown flag -")) << word;
  EXPECT_THAT(ParseArguments({"report", "-"}).positional, ElementsAre("-"));
}

TEST(Arguments, AFlagDoesNotTakeTheNextOneForItsValue) {
  EXPECT_EQ(Refusal({"--workers"}), "--workers needs a value: --workers N");
  EXPECT_EQ(Refusal({"--workers", "--batch", "4"}), "--workers needs a value: --workers N");
  EXPECT_EQ(Refusal({"--workers", "--", "a.yaml"}), "--workers needs a value: --workers N");
  EXPECT_EQ(ParseArguments({"--data=--odd"}).Last("data"), "--odd");
}

TEST(Arguments, ASwitchTakesNoValue) {
  EXPECT_EQ(Refusal({"--quiet=yes"}), "--quiet takes no value");
  const Arguments arguments = ParseArguments({"--quiet", "a.yaml"});
  EXPECT_TRUE(arguments.Has("quiet"));
  EXPECT_THAT(arguments.positional, ElementsAre("a.yaml"));
}

TEST(Arguments, WhatFollowsTwoDashesIsNoFlag) {
  EXPECT_THAT(ParseArguments({"report", "--full", "--", "--last.json"}).positional,
              ElementsAre("--last.json"));
}

TEST(Arguments, AValueMayHaveLinesOfItsOwn) {
  EXPECT_EQ(ParseArguments({"--set", "model={\n}"}).Last("set"), "model={\n}");
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

TEST(Arguments, AChangeOfASectionReplacesTheFlagsOfItsParts) {
  const Arguments typed = ParseArguments({"--storage", "hdd", "--set", "storage.latency=20ms", "--batch", "256"});
  EXPECT_THAT(WithChanges(typed, {{"storage", "nvme"}}), ElementsAre("pipesim", "--batch", "256", "--storage", "nvme"));
}

TEST(Arguments, AChangeDoesNotExportToTheSameFileAgain) {
  const Arguments typed = ParseArguments({"--batch", "8", "--export", "json=before.json"});
  EXPECT_THAT(WithChanges(typed, {{"loader.workers", "8"}}),
              ElementsAre("pipesim", "--batch", "8", "--workers", "8"));
}

TEST(Arguments, AChangeDoesNotExpectWhatIsTrueOfTheRunWithoutIt) {
  const Arguments typed = ParseArguments({"--expect", "cpu-contention", "--observed",
                                          "samples_per_s=450", "--require", "samples_per_s>=400"});
  EXPECT_THAT(WithChanges(typed, {{"loader.workers", "8"}}),
              ElementsAre("pipesim", "--require", "samples_per_s>=400", "--workers", "8"));
  EXPECT_THAT(WithChanges(typed, {}),
              ElementsAre("pipesim", "--expect", "cpu-contention", "--observed",
                          "samples_per_s=450", "--require", "samples_per_s>=400"));
}

TEST(Arguments, AChangeWithoutAShortFlagIsASet) {
  EXPECT_THAT(WithChanges(ParseArguments({"--batch", "8"}), {{"loader.in_order", "false"}}),
              ElementsAre("pipesim", "--batch", "8", "--set", "loader.in_order=false"));
}

}  // namespace
}  // namespace pipesim::app
