// The command line: help, typos, invalid input, exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/command.h"

namespace pipesim {
namespace {

using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using testing::HasSubstr;
using testing::StartsWith;

int LongestLine(const std::string& text) {
  int longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    longest = std::max(longest, static_cast<int>(line.size()));
  return longest;
}

TEST(CommandLine, WithoutArgumentsShowsFiveExamplesAndSucceeds) {
  const CommandResult result = RunPipesim({});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("pipesim --workers 4 --batch 256 --model mlp"));
  EXPECT_THAT(result.out, HasSubstr("pipesim report last"));
}

TEST(CommandLine, EveryCommandHasHelpInEightyColumnsWithExamples) {
  for (const char* command : {"run", "predict", "size", "sweep", "tune", "record", "report", "explain",
                              "validate", "scenarios", "import", "devices", "memory", "bench",
                              "completion"}) {
    const CommandResult result = RunPipesim({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.out, HasSubstr("Examples\n  pipesim ")) << command;
    EXPECT_LE(LongestLine(result.out), 80) << command;
  }
}

TEST(CommandLine, VersionNamesTheCommit) {
  EXPECT_THAT(RunPipesim({"--version"}).out, StartsWith("pipesim 0."));
}

TEST(CommandLine, AMistypedFlagIsNamedWithTheNearestOne) {
  const CommandResult result = RunPipesim({"--wokers", "4"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--wokers"));
  EXPECT_THAT(result.err, HasSubstr("did you mean --workers?"));
}

TEST(CommandLine, AMistypedCommandIsNamedWithTheNearestOne) {
  const CommandResult result = RunPipesim({"valdate", "x.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean `pipesim validate`?"));
}

TEST(CommandLine, AFlagWithoutItsValueShowsTheExpectedValue) {
  const CommandResult result = RunPipesim({"--workers"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--workers needs a value: --workers N"));
}

TEST(CommandLine, ABadValueInAFlagIsAConfigurationErrorThatQuotesIt) {
  const CommandResult result = RunPipesim({"--workers", "four", "--prepare", "8"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("command line"));
  EXPECT_THAT(result.err, HasSubstr("--workers"));
  EXPECT_THAT(result.err,
              HasSubstr("8ms"));  // both problems are reported, the second with a suggestion
}

TEST(CommandLine, AMissingFileIsAConfigurationErrorThatNamesIt) {
  const CommandResult result = RunPipesim({"validate", "no-such.yaml"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("no-such.yaml"));
}

TEST(CommandLine, ValidateReadsEachPointOfASweep) {
  const std::string file = (TestFolder() / "swept.yaml").string();
  std::ofstream(file) << "version: 1\nsweep:\n  axes:\n    loader.workers: [1, 2, x]\n";
  const CommandResult result = RunPipesim({"validate", file});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("'x' is not"));
  EXPECT_EQ(RunPipesim({"validate", PIPESIM_SOURCE_DIR "/configs/sweeps/workers_by_batch.yaml"}).exit_code, 0);
}

TEST(CommandLine, SeveralAcceleratorsCanOnlyBePredicted) {
  const std::string file = (TestFolder() / "eight.yaml").string();
  std::ofstream(file) << "version: 1\nrun: {accelerators: 8}\n";
  const CommandResult result = RunPipesim({file, "--device", "emulated"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("eight.yaml:2:21"));
  EXPECT_THAT(result.err, HasSubstr("several can only be predicted"));
  EXPECT_THAT(result.err, HasSubstr("pipesim predict"));
  EXPECT_EQ(RunPipesim({"validate", file}).exit_code, 0);
  EXPECT_EQ(
      RunPipesim({file, "--device", "emulated", "--accelerators", "1", "--dry-run"}).exit_code, 0);
}

TEST(CommandLine, ALaterFlagWins) {
  const CommandResult result =
      RunPipesim({"--workers", "4", "--set", "loader.workers=7", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("loader.workers +7 +flag"));
}

TEST(CommandLine, DryRunShowsEveryOriginAndRunsNothing) {
  std::ofstream(TestFolder() / "two.yaml") << "version: 1\nloader: {workers: 2}\n";
  const CommandResult result =
      RunPipesim({(TestFolder() / "two.yaml").string(), "--batch", "32", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("loader.workers +2 +file"));
  EXPECT_THAT(result.out, testing::ContainsRegex("loader.batch_size +32 +flag"));
  EXPECT_THAT(result.out, testing::ContainsRegex("loader.prefetch_factor +2 +default"));
}

TEST(CommandLine, AnUnknownExportFormatFailsBeforeTheRun) {
  const CommandResult result = RunPipesim({"--device", "emulated", "--export", "jsn=x.json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("json"));
}

TEST(CommandLine, AnExportPathThatCannotBeWrittenFailsBeforeTheRun) {
  const CommandResult result =
      RunPipesim({"--device", "emulated", "--export", "json=/no/such/folder/x.json"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("/no/such/folder"));
}

TEST(CommandLine, ReportWithoutSavedRunsSaysWhatToDo) {
  const CommandResult result = RunPipesim({"report", "last"});
  if (result.exit_code == 0) GTEST_FAIL() << "another test of this program kept a run before";
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("no run is kept"));
}

TEST(CommandLine, ReportRefusesAFileThatIsNotAReport) {
  std::ofstream(TestFolder() / "no-report.json") << "{\"kind\": 7, \"deep\": [[[]]]}";
  const CommandResult result = RunPipesim({"report", (TestFolder() / "no-report.json").string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("no-report.json"));
}

TEST(CommandLine, ExplainKnowsEveryVerdictAndSuggestsForATypo) {
  const CommandResult all = RunPipesim({"explain"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* verdict :
       {"io-bound", "cpu-bound", "loader-bound", "cpu-contention", "h2d-bound", "launch-bound",
        "sync-bound", "host-bound", "compute-bound", "balanced", "inconclusive"}) {
    EXPECT_THAT(all.out, HasSubstr(verdict));
    EXPECT_EQ(RunPipesim({"explain", verdict}).exit_code, 0) << verdict;
  }
  EXPECT_THAT(RunPipesim({"explain", "io-bond"}).err, HasSubstr("io-bound"));
}

}  // namespace
}  // namespace pipesim
