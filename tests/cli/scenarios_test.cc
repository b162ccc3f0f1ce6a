// `pipesim scenarios`: the list, the explanations, and every scenario's verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/command.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using testing::HasSubstr;

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(PIPESIM_SOURCE_DIR "/configs/scenarios"))
    names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string FileOf(const std::string& name) {
  return PIPESIM_SOURCE_DIR "/configs/scenarios/" + name + ".yaml";
}

std::string TextOfFile(const std::string& name) {
  std::ifstream file(FileOf(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

bool CanPredict(const std::string& name) {
  return TextOfFile(name).find("# shown by: predict") != std::string::npos;
}

/// Whether a running process has `word` in its command line; forked ones have their parent's.
bool AnyProcessMentions(const std::string& word) {
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    std::ifstream file(process.path() / "cmdline");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

TEST(Scenarios, TheListHasEachWithItsVerdictInEightyColumns) {
  const CommandResult list = RunPipesim({"scenarios"});
  ASSERT_EQ(list.exit_code, 0) << list.err;
  std::istringstream lines(list.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  for (const std::string& name : ScenarioNames())
    EXPECT_THAT(list.out, testing::ContainsRegex("\n" + name + " +[a-z0-9]+")) << name;
  EXPECT_GE(ScenarioNames().size(), 25U);
}

TEST(Scenarios, EachIsExplainedWithItsExperimentAndACommandToTryIt) {
  for (const std::string& name : ScenarioNames()) {
    const CommandResult result = RunPipesim({"scenarios", name});
    EXPECT_EQ(result.exit_code, 0) << name << result.err;
    for (const char* part : {"Met as   ", "Verdict  ", "Why      ", "  version: 1\n", "Try it\n"})
      EXPECT_THAT(result.out, HasSubstr(part)) << name;
    EXPECT_THAT(result.out, HasSubstr("pipesim scenarios " + name + " --")) << name;
    EXPECT_EQ(RunPipesim({"validate", FileOf(name)}).exit_code, 0) << name;
  }
}

/// Every fourth scenario: all of them take minutes under the thread sanitizer.
class ScenariosInParts : public testing::TestWithParam<std::size_t> {
 public:
  static constexpr std::size_t kParts = 4;
};

TEST_P(ScenariosInParts, EachThatCanBePredictedGetsTheVerdictOfItsFile) {
  const std::vector<std::string> names = ScenarioNames();
  int predicted = 0;
  for (std::size_t i = GetParam(); i < names.size(); i += kParts) {
    if (!CanPredict(names[i])) continue;
    const CommandResult result =
        RunPipesim({"scenarios", names[i], "--predict", "--brief", "--no-save"});
    EXPECT_EQ(result.exit_code, 0) << names[i] << "\n" << result.out << result.err;
    ++predicted;
  }
  EXPECT_GE(predicted, 5);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ScenariosInParts,
                         testing::Range(std::size_t{0}, ScenariosInParts::kParts));

TEST(Scenarios, ALaterFlagWinsOverTheScenariosVerdict) {
  const CommandResult result = RunPipesim(
      {"scenarios", "gpu-full", "--predict", "--brief", "--no-save", "--expect", "io-bound"});
  EXPECT_EQ(result.exit_code, 5) << result.out << result.err;
}

TEST(Scenarios, ARunKnowsWhetherItNeedsLibTorch) {
  EXPECT_EQ(RunPipesim({"scenarios", "noisy-neighbour", "--run", "--needs-libtorch"}).out, "yes\n");
  EXPECT_EQ(RunPipesim({"scenarios", "gpu-full", "--run", "--needs-libtorch"}).out, "no\n");
}

TEST(Scenarios, WhatOnlyARunShowsIsNotPredicted) {
  const CommandResult result = RunPipesim({"scenarios", "noisy-neighbour", "--predict"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("use --run"));
  EXPECT_THAT(RunPipesim({"scenarios", "noisy-neighbour"}).out,
              HasSubstr("Only a real run shows it.\n--run keeps 1 core busy beside it.\n"));
  EXPECT_EQ(RunPipesim({"scenarios", "many-ranks", "--run"}).exit_code, 2);
}

TEST(Scenarios, AMistypedNameIsSuggested) {
  const CommandResult result = RunPipesim({"scenarios", "no-worker"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean no-workers?"));
  EXPECT_EQ(RunPipesim({"scenarios", "--run"}).exit_code, 2);
}

// What real runs of these two rest on, which presets change.
TEST(Scenarios, CopiesAndStepsTakeWhatTheirTextsSay) {
  const auto step_and_copy_s = [](const std::string& name) {
    const CommandResult result =
        RunPipesim({"predict", FileOf(name), "--profile", "default", "--no-save", "--export", "json=-"});
    const auto demands = nlohmann::json::parse(result.out).at("demands");
    return std::pair(demands.at("step_s").get<double>(), demands.at("h2d_s").get<double>());
  };
  const auto [step_s, copy_s] = step_and_copy_s("item-every-step");
  EXPECT_NEAR(step_s, copy_s, 0.05 * copy_s);
  const auto [short_step_s, long_copy_s] = step_and_copy_s("blocking-copies");
  EXPECT_LT(short_step_s, 0.5 * long_copy_s);
}

TEST(Verdict, AScenarioRunsForReal) {
  const CommandResult result = RunPipesim(
      {"scenarios", "gpu-full", "--run", "--duration", "2s", "--brief", "--quiet", "--no-save"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(Verdict, AScenarioWithANeighbourRunsBesideOneAndEndsIt) {
  const std::string out = (TestFolder() / "neighbour.json").string();
  // The device is emulated, so that no LibTorch is needed and the run itself uses little.
  RunPipesim({"scenarios", "noisy-neighbour", "--run", "--device", "emulated", "--duration", "2s",
              "--quiet", "--no-save", "--export", "json=" + out});
  const auto report = nlohmann::json::parse(std::ifstream(out));
  EXPECT_GT(report["resources"]["foreign_cores"].get<double>(), 0.3);
  EXPECT_FALSE(AnyProcessMentions(out)) << "the neighbour still runs";
}

}  // namespace
}  // namespace pipesim
