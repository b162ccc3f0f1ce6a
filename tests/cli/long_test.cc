// Long tests that need an idle machine: rates against formulas, a real model on real files. Run by
// `tools/test --full`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
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

json ReportOf(std::vector<std::string> words) {
  words.insert(words.end(), {"--quiet", "--no-save", "--export", "json=-"});
  support::CommandOptions patient;
  patient.limit = std::chrono::seconds(500);
  const CommandResult result = RunPipesim(words, patient);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out.empty() ? json() : json::parse(result.out);
}

/// Partitions are complete: other_s is at most 0.5 % of the wall time.
void ExpectPartitionsClose(const json& report) {
  for (const char* name : {"consumer", "device", "workers"}) {
    const json& part = report[name];
    if (part.is_null() || part["wall_s"] == 0) continue;
    EXPECT_GE(part["other_s"].get<double>(), -1e-6) << name;
    EXPECT_LE(part["other_s"].get<double>(), 0.005 * part["wall_s"].get<double>()) << name;
  }
}

struct Disk {
  int workers;
  double bytes_per_s, latency_s, iops;  // iops 0: no limit
};

/// Names the test; the default name would be the bytes of the struct.
void PrintTo(const Disk& disk, std::ostream* out) {
  *out << disk.workers << " workers, " << disk.bytes_per_s / 1e6 << " MB/s, "
       << disk.latency_s * 1e3 << " ms, " << disk.iops << " IOPS";
}

class EmulatedDisk : public testing::TestWithParam<Disk> {};

TEST_P(EmulatedDisk, MatchesItsFormulaWithinHalfAPerCent) {
  // min(bandwidth, IOPS x size, W x size / (latency + size / bandwidth)), 1 MB a sample
  const auto [workers, bytes_per_s, latency_s, iops] = GetParam();
  std::string storage = "{bandwidth: " + std::to_string(static_cast<long>(bytes_per_s / 1e6)) +
                        "MB/s, latency: " + std::to_string(static_cast<long>(latency_s * 1e6)) +
                        "us";
  if (iops > 0) storage += ", iops: " + std::to_string(static_cast<long>(iops));
  const double expected_per_s = std::min(
      {bytes_per_s / 1e6, iops > 0 ? iops : 1e12, workers / (latency_s + 1e6 / bytes_per_s)});
  const double duration_s = std::max(5.0, 2000 / expected_per_s);
  const json report = ReportOf(
      {"--workers", std::to_string(workers), "--batch", "8", "--model", "linear", "--set",
       "dataset={samples: 100000, sample_bytes: 1MB, shape: [16], classes: 10}", "--prepare",
       "none", "--set", "storage=" + storage + "}", "--set", "device={emulated: {base: 1us}}",
       "--duration", std::to_string(static_cast<int>(duration_s) + 1) + "s"});
  const double measured_per_s = report["result"]["samples_per_s"];
  RecordProperty("ratio", std::to_string(measured_per_s / expected_per_s));
  EXPECT_NEAR(measured_per_s / expected_per_s, 1, 0.005);
  ExpectPartitionsClose(report);
}

INSTANTIATE_TEST_SUITE_P(Limits, EmulatedDisk,
                         testing::Values(Disk{1, 500e6, 1e-3, 0}, Disk{16, 500e6, 1e-3, 0},
                                         Disk{16, 10e9, 10e-3, 0}, Disk{1, 5e9, 2e-3, 300},
                                         Disk{16, 10e9, 1e-3, 800}));

struct Stages {
  int workers;
  int stage_us, step_us;
};

void PrintTo(const Stages& stages, std::ostream* out) {
  *out << stages.workers << " workers of " << stages.stage_us << " us, step " << stages.step_us
       << " us";
}

class WaitingStages : public testing::TestWithParam<Stages> {};

TEST_P(WaitingStages, ReachNinetyNinePerCentOfTheSlowerStage) {
  // min(W / s, 1 / g)
  const auto [workers, stage_us, step_us] = GetParam();
  const json report = ReportOf(
      {"--workers", std::to_string(workers), "--batch", "1", "--model", "linear", "--set",
       "dataset={samples: 100000, sample_bytes: 1kB, shape: [16], classes: 10}", "--set",
       "storage=none", "--set", "prepare={kind: wait, cost: " + std::to_string(stage_us) + "us}",
       "--set", "device={emulated: {base: " + std::to_string(step_us) + "us}}", "--duration",
       "6s"});
  const double expected_per_s = std::min(workers / (stage_us * 1e-6), 1 / (step_us * 1e-6));
  const double measured_per_s = report["result"]["samples_per_s"];
  RecordProperty("ratio", std::to_string(measured_per_s / expected_per_s));
  EXPECT_GE(measured_per_s / expected_per_s, 0.99);
  EXPECT_LE(measured_per_s / expected_per_s, 1.005);
  ExpectPartitionsClose(report);
}

INSTANTIATE_TEST_SUITE_P(Rates, WaitingStages,
                         testing::Values(Stages{1, 1000, 1000}, Stages{1, 5000, 1000},
                                         Stages{4, 4000, 1000}, Stages{2, 4000, 2000},
                                         Stages{8, 4000, 1000}, Stages{4, 1000, 5000}));

class InjectedStarvation : public testing::TestWithParam<int> {};

TEST_P(InjectedStarvation, IsMeasuredToOnePercentagePoint) {
  // A disk that delivers a batch every g / (1 - f), for steps of g = 5 ms; at f = 0 twice as fast.
  // Four workers keep it busy, so that a worker's other work delays no batch.
  const double share = GetParam() / 100.0;
  const long batches_per_s = GetParam() > 0 ? std::lround(200 * (1 - share)) : 400;
  const json report = ReportOf(
      {"--workers", "4", "--batch", "1", "--model", "linear", "--set",
       "dataset={samples: 100000, sample_bytes: 1kB, shape: [16], classes: 10}", "--prepare",
       "none", "--set", "storage={iops: " + std::to_string(batches_per_s) + "}", "--set",
       "device={emulated: {base: 5ms}}", "--duration", "10s"});
  const json& device = report["device"];
  const double starved = device["starved_s"].get<double>() / device["wall_s"].get<double>();
  RecordProperty("starved_percent", std::to_string(100 * starved));
  EXPECT_NEAR(starved, share, 0.01);
  EXPECT_NEAR(report["result"]["accelerator_utilization"].get<double>(), 1 - share, 0.01);
  ExpectPartitionsClose(report);
}

INSTANTIATE_TEST_SUITE_P(Shares, InjectedStarvation, testing::Values(0, 10, 30, 50, 70, 90));

std::int64_t ResidentKib(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stoll(line.substr(6));
  return 0;
}

TEST(Endurance, ThirtyMinutesKeepResidentMemoryFlat) {
  using namespace std::chrono_literals;
  // A batch a millisecond: 1.8 million of them, 180 epochs, all series and buckets long full.
  support::CommandOptions options;
  options.limit = 2000s;
  std::int64_t early_kib = 0, late_kib = 0;
  options.while_running = [&](int pid) {
    const int run = support::RunProcessOf(pid);
    std::this_thread::sleep_for(8min);  // resources are read every 100 ms, 4,096 times at most
    early_kib = ResidentKib(run);
    std::this_thread::sleep_for(21min);
    late_kib = ResidentKib(run);
  };
  const CommandResult result = RunPipesim(
      {"--workers", "4", "--batch", "4", "--set", "dataset={samples: 40k, shape: [64]}", "--set",
       "prepare={kind: wait, cost: 1ms}", "--set", "storage={latency: 10us, cache: {size: 1MB}}",
       "--set", "device={emulated: {base: 500us}}", "--set", "loader.pin_memory=true", "--duration",
       "30min", "--no-save", "--quiet", "--export", "json=-"},
      options);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(json::parse(result.out)["result"]["steps"], 1'000'000);
  RecordProperty("early_kib", std::to_string(early_kib));
  RecordProperty("late_kib", std::to_string(late_kib));
  ASSERT_GT(early_kib, 0);
  EXPECT_LE(late_kib - early_kib, 1024);
}

#ifdef PIPESIM_MAKE_DATASET
TEST(Calibrate, CpuStepsMatchThoseOfARun) {
  const std::string profile = (TestFolder() / "machine.yaml").string();
  support::CommandOptions patient;
  patient.limit = std::chrono::seconds(500);
  const CommandResult calibrated = RunPipesim({"calibrate", "--model", "linear", "--device", "cpu",
                                               "--cpus", "1", "--out", profile, "--quiet"},
                                              patient);
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
  const auto rate = [](const char* command, const std::vector<std::string>& more) {
    std::vector<std::string> words{command, "--model",   "linear", "--device",   "cpu", "--cpus",
                                   "1",     "--batch",   "64",     "--workers",  "0",   "--prepare",
                                   "none",  "--storage", "none",   "--duration", "3s"};
    words.insert(words.end(), more.begin(), more.end());
    return ReportOf(words)["result"]["samples_per_s"].get<double>();
  };
  const double predicted = rate("predict", {"--profile", profile}), measured = rate("run", {});
  RecordProperty("predicted_over_measured", std::to_string(predicted / measured));
  EXPECT_GT(predicted / measured, 1 / 1.5);
  EXPECT_LT(predicted / measured, 1.5);
}

TEST(RealFiles, Resnet18LearnsTheClassesOfAJpegFolderInAHundredSteps) {
  const std::string folder = (TestFolder() / "jpegs").string();
  const std::string make = std::string(PIPESIM_MAKE_DATASET) + " " + folder +
                           " --classes 10 --per-class 96 --size 96x96 --seed 1 >/dev/null 2>&1";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const json report = ReportOf({"--data", folder, "--workers", "2", "--batch", "32", "--model",
                                "resnet18", "--device", "cpu", "--set", "dataset.shape=[3, 64, 64]",
                                "--set", "model.sync_every=1", "--steps", "100"});
  const json& loss = report["result"]["loss"];
  EXPECT_EQ(loss["readings"], 100);
  // Ten classes by chance: ln 10 = 2.3.
  EXPECT_GT(loss["first"].get<double>(), 1.8);
  EXPECT_LT(loss["last"].get<double>(), 0.7);
}
#endif

}  // namespace
}  // namespace pipesim
