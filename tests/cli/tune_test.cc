// `pipesim tune`: predicted and real loops, what it writes, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/command.h"
#include "support/experiments.h"
#include "support/schema.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using support::CommandOptions;
using support::CommandResult;
using support::kWaitingLoader;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;

CommandResult Tune(std::vector<std::string> words, const CommandOptions& options = {}) {
  words.insert(words.begin(), "tune");
  words.insert(words.end(), {"--workers", "1"});
  words.insert(words.end(), kWaitingLoader.begin(), kWaitingLoader.end());
  return RunPipesim(words, options);
}

TEST(TunePredicted, FindsTheSmallestSettingsThatAreNearlyFastest) {
  const CommandResult result = Tune({"--engine", "predict", "--export", "json=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "tune"));
  EXPECT_EQ(document["engine"], "predicted");
  EXPECT_EQ(document["tuned"]["settings"]["workers"], 4);  // 32 ms / 8 ms
  EXPECT_NEAR(document["tuned"]["gain"].get<double>(), 3, 0.1);
  EXPECT_LE(document["steps"].size(), 8u);
  EXPECT_EQ(document["steps"][0]["phase"], "base");
  EXPECT_EQ(document["steps"][0]["settings"]["workers"], 1);
  EXPECT_TRUE(document["tuned"]["settings"]["compute_threads"].is_null());
}

TEST(TunePredicted, NamesTheThreadsToSetInPyTorch) {
  const std::string file = (TestFolder() / "recorded.yaml").string();
  std::ofstream(file) << "dataset: {samples: 6400, shape: [8]}\nstorage: none\nprepare: 10us\n"
                         "limits: {cpus: 2, compute_threads: 2}\n"
                         "device: {name: cpu, step: {base: 50ms, threads: 2, one_thread: 0.1}}\n";
  const CommandResult result = RunPipesim({"tune", file, "--engine", "predict", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("and torch.set_num_threads(1) in the training program"));
}

TEST(TunePredicted, ItsFileHoldsTheTunedExperiment) {
  const std::string file = (TestFolder() / "tuned.yaml").string();
  const CommandResult result = Tune({"--engine", "predict", "--out", file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Wrote " + file), HasSubstr("num_workers=4")));
  const CommandResult predicted = RunPipesim({"predict", file, "--export", "json=-"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const auto report = ordered_json::parse(predicted.out);
  EXPECT_EQ(report["effective"]["workers"], 4);
  EXPECT_NEAR(report["result"]["samples_per_s"].get<double>(), 2000, 60);  // 16 / 8 ms
}

TEST(TunePredicted, TheKeptDocumentPrintsTheSameText) {
  const std::string file = (TestFolder() / "tune.json").string();
  const CommandResult tuned = Tune({"--engine", "predict", "--export", "json=" + file});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, AllOf(HasSubstr("as it is"), HasSubstr("predicted +300 %"),
                               HasSubstr("In PyTorch: DataLoader("), HasSubstr("version: 1")));
  EXPECT_EQ(RunPipesim({"report", file}).out, tuned.out);
}

TEST(TunePredicted, ComputeThreadsAreTunedWhereTheCpuTrains) {
  const CommandResult result =
      RunPipesim({"tune", "--engine", "predict", "--device", "cpu", "--cpus", "2", "--model", "mlp",
                  "--batch", "64", "--workers", "4", "--steps", "200", "--export", "json=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(document["tuned"]["settings"]["compute_threads"].is_number());
  EXPECT_GE(document["tuned"]["gain"].get<double>(), -0.02);
}

TEST(TunePredicted, AStatedStepKeepsItsThreadsAndProcessesTheirWindow) {
  // The step is known on two threads only; with one the prediction would take it for as fast.
  const CommandResult result = RunPipesim({"tune",
                                           "--engine",
                                           "predict",
                                           "--cpus",
                                           "2",
                                           "--workers",
                                           "2",
                                           "--batch",
                                           "64",
                                           "--storage",
                                           "none",
                                           "--set",
                                           "prepare={kind: burn, cost: 50us}",
                                           "--set",
                                           "loader.kind=process",
                                           "--set",
                                           "device={name: cpu, step: 5ms}",
                                           "--threads",
                                           "2",
                                           "--export",
                                           "json=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto settings = ordered_json::parse(result.out)["tuned"]["settings"];
  EXPECT_EQ(settings["compute_threads"], 2);
  if (settings["workers"] > 0) {
    EXPECT_EQ(settings["prefetch_factor"], 2);
  }
}

TEST(MeasuredTuning, RunsFewAndEndsNearTheBest) {
  const std::string file = (TestFolder() / "real.json").string();
  const CommandResult result = Tune({"--duration", "700ms", "--export", "json=" + file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = ordered_json::parse(std::ifstream(file));
  EXPECT_TRUE(tests::FitsSchema(document, "tune"));
  EXPECT_EQ(document["engine"], "real");
  EXPECT_LE(document["steps"].size(), 8u);
  EXPECT_THAT(result.err, HasSubstr("run 1 of at most 8: as it is"));
  EXPECT_GE(document["tuned"]["settings"]["workers"].get<int>(), 3);
  EXPECT_GE(document["tuned"]["gain"].get<double>(), 1.5);
}

TEST(TuneReal, CtrlCReportsWhatIsThere) {
  CommandOptions options;
  options.while_running = [](int pid) {
    // Not while the run's process starts: there the thread sanitizer loses a signal now and then.
    support::UntilItHandles(support::RunProcessOf(pid), SIGTERM);
    kill(pid, SIGINT);
  };
  const CommandResult result =
      Tune({"--duration", "30s", "--quiet", "--export", "json=-"}, options);
  EXPECT_EQ(result.exit_code, 130);
  ASSERT_FALSE(result.out.empty()) << result.err;
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "tune"));
  EXPECT_EQ(document["ended"], "interrupted");
}

TEST(TuneReal, ARunThatCannotStartEndsItWithItsReason) {
  const CommandResult result = RunPipesim({"tune", "--device", "emulated", "--batch", "1000000000",
                                           "--set", "dataset.samples=1000000000", "--quiet"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, AllOf(HasSubstr("no run was finished"), HasSubstr("are free by")));
}

void ExpectUsageError(const CommandResult& result, const std::string& text) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(text));
}

TEST(TuneErrors, NameTheFlagAndWhatItTakes) {
  ExpectUsageError(Tune({"--engine", "both"}), "--engine takes run or predict");
  ExpectUsageError(Tune({"--allow", "workers"}), "--allow takes batch");
  ExpectUsageError(Tune({"--within", "2"}), "--within takes a share");
  ExpectUsageError(Tune({"--most-runs", "0"}), "--most-runs takes a count from 1");
  ExpectUsageError(Tune({"--from", "last"}), "only --engine predict");
  ExpectUsageError(Tune({"--engin", "predict"}), "did you mean --engine?");
  EXPECT_EQ(Tune({"--accelerators", "2"}).exit_code, 3);
  EXPECT_EQ(Tune({"--engine", "predict", "--out", "/nowhere/tuned.yaml"}).exit_code, 3);
}

}  // namespace
}  // namespace pipesim
