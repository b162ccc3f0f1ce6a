// What whole runs try after their measured window, and --prove. Asserts signs, bounds and counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/command.h"
#include "what_if_row.h"

namespace pipesim {
namespace {

using nlohmann::json;
using support::CommandResult;
using support::RunPipesim;
using testing::HasSubstr;
using tests::RowOf;

/// 2 workers that wait 8 x 1 ms for a batch, against steps of 1 ms: 4 ms a step.
std::vector<std::string> Starved(std::vector<std::string> more) {
  std::vector<std::string> words = {"--workers",
                                    "2",
                                    "--batch",
                                    "8",
                                    "--steps",
                                    "900",
                                    "--set",
                                    "prepare={kind: wait, cost: 1ms}",
                                    "--set",
                                    "storage=none",
                                    "--set",
                                    "device={emulated: {base: 1ms}}",
                                    "--quiet",
                                    "--export",
                                    "json=-"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(VerdictTried, StandsBesideThePredictions) {
  const json report = json::parse(RunPipesim(Starved({})).out);
  EXPECT_EQ(report["diagnosis"]["bottleneck"], "loader-bound");
  const json data = RowOf(report, "free data (upper bound)");
  ASSERT_TRUE(data.is_object() && data["tried"].is_object()) << report["diagnosis"].dump(1);
  // 4 ms against 1 ms
  EXPECT_NEAR(data["tried"]["gain"].get<double>(), 3, 0.6);
  EXPECT_FALSE(data["tried"]["refutes"].get<bool>());
  const json training = RowOf(report, "free compute (upper bound)");
  if (training.is_object() && training["tried"].is_object()) {
    EXPECT_NEAR(training["tried"]["gain"].get<double>(), 0, 0.1);
  }
  EXPECT_GT(report["diagnosis"]["probes_s"], 0);
  EXPECT_LE(report["diagnosis"]["probes_s"].get<double>(),
            0.21 * report["result"]["measured_s"].get<double>());
  // Whole cycles of the 900 steps; none of the probes'.
  EXPECT_LE(report["result"]["steps"].get<int>() + report["result"]["warmup_steps"].get<int>(),
            900);
}

TEST(VerdictTried, OffTriesNothing) {
  const json report = json::parse(RunPipesim(Starved({"--set", "run.probes=off"})).out);
  EXPECT_TRUE(report["diagnosis"]["probes_s"].is_null());
  for (const json& row : report["diagnosis"]["what_if"]) EXPECT_TRUE(row["tried"].is_null());
}

TEST(VerdictProved, RunsTheRecommendedCommandInTurn) {
  const CommandResult result = RunPipesim(Starved({"--prove"}));
  const json report = json::parse(result.out);
  if (!report.contains("proof") && report["resources"]["foreign_cores"] > 0.2)
    GTEST_SKIP() << "other programs leave no verdict to prove";
  ASSERT_TRUE(report.contains("proof")) << result.err;
  const json proof = report["proof"];
  EXPECT_EQ(proof["base_samples_per_s"].size(), 3u);
  EXPECT_EQ(proof["changed_samples_per_s"].size(), 3u);
  EXPECT_EQ(proof["argv"], report["diagnosis"]["recommendation"]["argv"]);
  EXPECT_EQ(proof["argv"].dump().find("--prove"), std::string::npos);
  EXPECT_GT(proof["gain"], 0.5);
  EXPECT_LE(proof["gain_interval"]["low"], proof["gain"]);
  EXPECT_THAT(RunPipesim({"report", "last"}).out, HasSubstr("Proof promised +"));
}

TEST(Prove, CtrlCKeepsThePairsThatAreFinished) {
  // The series would take 30 s.
  support::CommandOptions options;
  options.while_running = [](int pid) {
    const int first = support::RunProcessOf(pid);
    try {
      support::RunProcessOf(pid, first);
    } catch (const std::runtime_error&) {  // nothing to prove
    }
    kill(pid, SIGINT);
  };
  const CommandResult result = RunPipesim(Starved({"--prove", "--steps", "1300"}), options);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "ok");
  if (!report.contains("proof") && report["resources"]["foreign_cores"] > 0.2)
    GTEST_SKIP() << "other programs leave no verdict to prove";
  ASSERT_TRUE(report.contains("proof")) << result.err;
  EXPECT_LE(report["proof"]["changed_samples_per_s"].size(), 3u);
  EXPECT_EQ(report["proof"]["pairs_asked"], 3);
}

TEST(Prove, AnInterruptedRunProvesNothing) {
  support::CommandOptions options;
  options.while_running = [](int pid) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    kill(pid, SIGINT);
  };
  const CommandResult result = RunPipesim(Starved({"--prove", "--steps", "5000"}), options);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("interrupted, so nothing was proved"));
}

TEST(Prove, WithoutAPromiseThereIsNothingToProve) {
  // Too few steps for a verdict.
  const CommandResult result = RunPipesim(
      {"--workers", "4", "--batch", "8", "--steps", "8", "--prove", "--quiet", "--set",
       "prepare=none", "--set", "storage=none", "--set", "device={emulated: {base: 5ms}}"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("nothing to prove"));
}

TEST(Prove, IsNoFlagOfPredict) {
  const CommandResult result = RunPipesim({"predict", "--prove"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--prove is a flag of `pipesim run`"));
}

}  // namespace
}  // namespace pipesim
