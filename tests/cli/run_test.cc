// Whole runs on real threads with an emulated device: one run per verdict, run ends, exports, saved
// runs, Ctrl-C. Asserts verdicts and counts, never absolute times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/command.h"

namespace pipesim {
namespace {

using nlohmann::json;
using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using testing::HasSubstr;

/// `pipesim --device emulated(step) ...`, its report as JSON.
struct Ran {
  CommandResult result;
  json report;
};
Ran RunEmulated(const std::string& step, std::vector<std::string> words) {
  words.insert(words.end(), {"--set", "device={emulated: {base: " + step + "}}", "--quiet",
                             "--export", "json=-"});
  Ran ran{RunPipesim(words), {}};
  if (!ran.result.out.empty()) ran.report = json::parse(ran.result.out);
  return ran;
}

std::string Verdict(const Ran& ran) {
  return ran.report.value("/diagnosis/bottleneck"_json_pointer, "none: " + ran.result.err);
}

TEST(Verdict, ASaturatedDiskIsIoBound) {
  // 4 readers of 64 x 110 KiB over 200 MB/s: 35 ms a batch, against a step of 5 ms
  const Ran ran = RunEmulated(
      "5ms", {"--workers", "4", "--batch", "64", "--prepare", "none", "--duration", "4s",
              "--sample-bytes", "110KiB", "--set", "storage={bandwidth: 200MB/s, latency: 50us}"});
  EXPECT_EQ(Verdict(ran), "io-bound");
}

TEST(Verdict, OneWaitingWorkerIsLoaderBound) {
  const Ran ran = RunEmulated(
      "4ms", {"--workers", "1", "--batch", "8", "--set", "prepare={kind: wait, cost: 2ms}", "--set",
              "storage=none", "--duration", "3s"});
  EXPECT_EQ(Verdict(ran), "loader-bound");
}

TEST(Verdict, AnyNumberOfBurningWorkersOnOneCoreIsCpuBound) {
  const Ran ran = RunEmulated(
      "2ms", {"--workers", "64", "--batch", "8", "--prepare", "2ms", "--cpus", "1", "--set",
              "storage=none", "--set", "loader.prefetch_factor=1", "--duration", "6s"});
  if (Verdict(ran) == "inconclusive") {  // acceptable only if other programs used the core
    const double foreign_cores = ran.report["resources"]["foreign_cores"];
    EXPECT_GT(foreign_cores, 0.1) << ran.report["diagnosis"];
    return;
  }
  EXPECT_EQ(Verdict(ran), "cpu-bound");
}

TEST(Verdict, AFullQueueIsComputeBound) {
  const Ran ran = RunEmulated(
      "20ms", {"--workers", "2", "--batch", "8", "--set", "prepare={kind: wait, cost: 100us}",
               "--set", "storage=none", "--duration", "3s"});
  EXPECT_EQ(Verdict(ran), "compute-bound");
}

TEST(Predict, AFewEvenStepsDecide) {
  EXPECT_EQ(RunPipesim({"predict", "--workers", "2", "--batch", "8", "--set",
                        "prepare={kind: wait, cost: 10ms}", "--set", "storage=none", "--set",
                        "device={emulated: {base: 5ms}}", "--steps", "12", "--expect",
                        "loader-bound", "--quiet", "--no-save"})
                .exit_code,
            0);
}

TEST(Verdict, OneStepDecidesWhatIsPlainWithLowConfidence) {
  const Ran ran = RunEmulated(
      "5ms", {"--workers", "2", "--batch", "8", "--set", "prepare={kind: wait, cost: 10ms}",
              "--set", "storage=none", "--steps", "1"});
  // Two workers take 40 ms for a batch, the device 5 ms.
  EXPECT_EQ(Verdict(ran), "loader-bound");
  EXPECT_EQ(ran.report["diagnosis"]["confidence"], "low");
  // The run ends before the device has trained on the batch, whose 8 samples took 80 ms; 16 were loaded.
  EXPECT_GT(ran.report["result"]["samples_per_s"], 0);
  EXPECT_LE(ran.report["result"]["samples_per_s"], 200);
  EXPECT_EQ(ran.result.exit_code, 0);
}

TEST(Predict, AStepOrTwoAreNoFasterThanTheirDevice) {
  for (const char* steps : {"1", "2"}) {
    const CommandResult result =
        RunPipesim({"predict", "--workers", "2", "--batch", "8", "--set", "prepare={kind: wait, cost: 10ms}",
                    "--set", "storage=none", "--set", "device={emulated: {base: 500ms}}", "--steps", steps,
                    "--export", "json=-", "--quiet", "--no-save"});
    const double rate = json::parse(result.out)["result"]["samples_per_s"];
    EXPECT_GT(rate, 0) << steps;
    EXPECT_LE(rate, 16) << steps;
  }
}

TEST(Run, StepsAreCountedExactlyWithWarmUp) {
  const Ran ran = RunEmulated("1ms", {"--workers", "2", "--batch", "8", "--steps", "57"});
  EXPECT_EQ(ran.report["result"]["stopped_by"], "steps");
  const json& result = ran.report["result"];
  EXPECT_LE(result["steps"].get<int>(), 57);
  EXPECT_EQ(ran.result.exit_code, 0);
}

TEST(Run, AnEpochEndsWithItsPartialBatchAtItsTrueSize) {
  const Ran ran =
      RunEmulated("1ms", {"--workers", "2", "--batch", "64", "--set", "dataset.samples=1000",
                          "--epochs", "2", "--set", "run.warmup=0"});
  EXPECT_EQ(ran.report["result"]["stopped_by"], "epochs");
  EXPECT_EQ(ran.report["result"]["epochs"].size(), 2u);
}

TEST(Run, ExpectAndRequireDecideTheExitCode) {
  const std::vector<std::string> healthy{
      "--workers",    "2",          "--batch", "8",        "--set", "prepare=none", "--set",
      "storage=none", "--duration", "2s",      "--no-save"};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = healthy;
    words.insert(words.end(), more.begin(), more.end());
    return RunEmulated("10ms", words).result.exit_code;
  };
  EXPECT_EQ(with({"--expect", "compute-bound", "--require", "au>=0.5"}), 0);
  EXPECT_EQ(with({"--expect", "io-bound"}), 5);
  EXPECT_EQ(with({"--require", "samples_per_s>=1000000"}), 5);
}

TEST(Run, TheLastRunIsSavedAndRendersTheSameText) {
  const std::vector<std::string> words{"--workers", "2",       "--batch",
                                       "8",         "--steps", "60",
                                       "--quiet",   "--set",   "device={emulated: {base: 2ms}}"};
  const CommandResult run = RunPipesim(words);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(RunPipesim({"report", "last"}).out, run.out);
}

TEST(Run, CtrlCDrainsReportsAndLeavesWith130) {
  support::CommandOptions options;
  options.while_running = [](int pid) {
    support::UntilItHandles(support::RunProcessOf(pid), SIGINT);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    kill(pid, SIGINT);
  };
  const CommandResult result =
      RunPipesim({"--workers", "2", "--batch", "8", "--duration", "50s", "--quiet", "--set",
                  "device={emulated: {base: 5ms}}", "--export", "json=-"},
                 options);
  EXPECT_EQ(result.exit_code, 130);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "interrupted");
  EXPECT_GT(report["result"]["steps"], 30);
}

TEST(Run, AFullDiskLosesOnlyTheExport) {
  const CommandResult result =
      RunPipesim({"--workers", "2", "--batch", "8", "--steps", "40", "--quiet", "--set",
                  "device={emulated: {base: 1ms}}", "--export", "json=/dev/full"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("/dev/full"));
  EXPECT_THAT(result.out, HasSubstr("samples/s"));
  EXPECT_EQ(RunPipesim({"report", "last"}).exit_code, 0);
}

}  // namespace
}  // namespace pipesim
