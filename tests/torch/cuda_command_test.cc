// Whole commands on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "nvtx_ranges.h"
#include "support/command.h"

namespace pipesim {
namespace {

using nlohmann::json;
using support::CommandResult;
using support::RunPipesim;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Ran {
  CommandResult result;
  json report;
};
Ran RunOnGpu(std::vector<std::string> words) {
  words.insert(words.end(), {"--device", "cuda:0", "--quiet", "--no-save", "--export", "json=-"});
  support::CommandOptions patient;
  patient.limit = std::chrono::seconds(100);
  Ran ran{RunPipesim(words, patient), {}};
  if (!ran.result.out.empty()) ran.report = json::parse(ran.result.out);
  return ran;
}

class CudaCommand : public testing::Test {
 protected:
  void SetUp() override {
    const CommandResult trial = RunPipesim(
        {"--device", "cuda:0", "--workers", "0", "--steps", "1", "--quiet", "--no-save"});
    if (trial.exit_code != 0) GTEST_SKIP() << trial.err;
  }
};

TEST_F(CudaCommand, PinnedBatchesCopyFasterAndThePinStageIsReported) {
  // 38 MB per batch, so that the copy takes measurable time.
  const std::vector<std::string> words{"--workers", "4", "--model", "linear", "--batch", "256",
                                       "--set", "dataset={samples: 100k, shape: [3, 224, 224]}",
                                       "--prepare", "none", "--storage", "none", "--duration", "4s"};
  const auto with = [&](const char* pin) {
    auto more = words;
    more.insert(more.end(), {"--set", std::string("loader.pin_memory=") + pin});
    return RunOnGpu(more);
  };
  const Ran pinned = with("true"), pageable = with("false");
  ASSERT_EQ(pinned.result.exit_code, 0) << pinned.result.err;
  EXPECT_FALSE(pinned.report["pin"].is_null());
  EXPECT_TRUE(pageable.report["pin"].is_null());
  const auto copy_s = [](const Ran& ran) {
    return ran.report["demands"]["h2d_s"].get<double>();
  };
  RecordProperty("pinned_over_pageable", std::to_string(copy_s(pinned) / copy_s(pageable)));
  EXPECT_LT(copy_s(pinned), copy_s(pageable));
}

TEST_F(CudaCommand, AGraphLaunchesFasterThanItsSteps) {
  const auto with = [](const char* graph) {
    return RunOnGpu({"--workers", "2", "--model", "mlp", "--batch", "64", "--prepare", "none",
                     "--storage", "none", "--duration", "4s", "--set",
                     std::string("model.cuda_graph=") + graph});
  };
  const Ran graph = with("true"), steps = with("false");
  ASSERT_EQ(graph.result.exit_code, 0) << graph.result.err;
  const auto host_s = [](const Ran& ran) {
    return ran.report["demands"]["host_s"].get<double>();
  };
  RecordProperty("graph_over_steps", std::to_string(host_s(graph) / host_s(steps)));
  EXPECT_LT(host_s(graph), host_s(steps));
}

TEST_F(CudaCommand, TheSetUpOfLibrariesInTheFirstStepIsNoLaunching) {
  const auto host_s = [](const char* steps) {
    const Ran ran = RunOnGpu({"--workers", "0", "--model", "resnet18", "--batch", "64", "--prepare",
                              "none", "--storage", "none", "--warmup", "0", "--steps", steps});
    return ran.report["demands"]["host_s"].get<double>();
  };
  const double few = host_s("5"), many = host_s("100");
  RecordProperty("few_over_many", std::to_string(few / many));
  EXPECT_LT(few, 2 * many);
}

/// The mean of the values that are known.
double Mean(const json& line) {
  double sum = 0, count = 0;
  for (const json& value : line)
    if (!value.is_null()) sum += value.get<double>(), ++count;
  return sum / count;
}

TEST_F(CudaCommand, ReportsWhatNvmlReads) {
  const Ran ran = RunOnGpu({"--workers", "2", "--model", "resnet18", "--batch", "64", "--prepare",
                            "none", "--storage", "none", "--duration", "5s"});
  ASSERT_EQ(ran.result.exit_code, 0) << ran.result.err;
  const json& nvml = ran.report["resources"]["gpu_utilization_nvml"];
  ASSERT_FALSE(nvml.is_null());
  EXPECT_GT(nvml.get<double>(), 0.2);
  EXPECT_LE(nvml.get<double>(), 1);
  RecordProperty("nvml", nvml.dump());
  const json &gpu = ran.report["resources"]["gpu"], &lines = ran.report["over_time"]["gpu"];
  RecordProperty("gpu", gpu.dump());
  ASSERT_FALSE(gpu.is_null());
  // No GPU that trains draws less than 10 W or more than its limit and a short excess.
  EXPECT_GT(gpu["power_w"].get<double>(), 10);
  EXPECT_LT(gpu["power_w"].get<double>(), 1.2 * gpu["power_limit_w"].get<double>());
  EXPECT_GT(gpu["sm_clock_mhz"].get<double>(), 100);
  EXPECT_LE(gpu["sm_clock_mhz"], gpu["sm_clock_limit_mhz"]);
  EXPECT_GT(gpu["memory_clock_mhz"].get<double>(), 100);
  EXPECT_NEAR(Mean(lines["power_w"]), gpu["power_w"].get<double>(), 0.5 * gpu["power_w"].get<double>());
  EXPECT_GE(Mean(lines["memory_bytes"]), ran.report["memory"]["device_peak_bytes"].get<double>() / 2);
  RecordProperty("au", ran.report["result"]["accelerator_utilization"].dump());
}

TEST_F(CudaCommand, PrintsNothingOfLibTorchsOwn) {
  for (const auto& [model, graph] : {std::pair("mlp", "false"), {"mlp", "true"}, {"cnn", "false"}, {"cnn", "true"},
                                     {"resnet18", "false"}, {"transformer", "false"}}) {
    const Ran ran = RunOnGpu({"--workers", "2", "--model", model, "--batch", "16", "--prepare", "none",
                              "--storage", "none", "--steps", "12", "--warmup", "0", "--set",
                              std::string("model.cuda_graph=") + graph});
    EXPECT_EQ(ran.result.exit_code, 0) << model << " " << ran.result.err;
    EXPECT_EQ(ran.result.err, "") << model << ", graph " << graph;
  }
}

TEST_F(CudaCommand, NvtxMarksPinningCopyLaunchAndSync) {
  if (sizeof(PIPESIM_NVTX_RECORDER) == 1) GTEST_SKIP() << "NVTX's headers were missing at the build";
  const support::NvtxRanges ranges = support::RunWithNvtx(
      {"--device", "cuda:0", "--workers", "2", "--model", "mlp", "--batch", "64", "--prepare", "20us",
       "--storage", "none", "--steps", "40", "--set", "loader.pin_memory=true", "--set", "model.sync_every=4"});
  ASSERT_EQ(ranges.run.exit_code, 0) << ranges.run.err;
  EXPECT_EQ(ranges.unpaired, 0);
  EXPECT_EQ(ranges.nested, 0);
  for (const char* stage : {"prepare", "collate", "pin", "copy to the device", "host work", "waits for a step"})
    EXPECT_GE(ranges.batches.at(stage).size(), 40u) << stage;
  EXPECT_GE(ranges.batches.at("sync: reads a result").size(), 9u);
}

TEST_F(CudaCommand, AModelThatDoesNotFitEndsAsOomWithRequestedAndFreeMemory) {
  const Ran ran =
      RunOnGpu({"--workers", "0", "--model", "resnet50", "--batch", "16384", "--steps", "2",
                "--set", "dataset.samples=16384", "--prepare", "none", "--storage", "none"});
  EXPECT_EQ(ran.result.exit_code, 4) << ran.result.err;
  EXPECT_EQ(ran.report["result"]["status"], "oom");
  EXPECT_THAT(ran.report["result"]["failure"].get<std::string>(),
              AllOf(ContainsRegex("would hold [0-9.]+ [GT]B"), ContainsRegex("[0-9.]+ GB are free")));
}

// ---- memory, bench, devices

TEST_F(CudaCommand, MemoryIsWhatLibTorchAllocates) {
  constexpr double kMiB = 1 << 20;
  for (const auto& [model, batch] : {std::pair("mlp", "256"), {"cnn", "256"}, {"resnet18", "32"},
                                     {"transformer", "32"}}) {
    const std::vector<std::string> asked{"--model", model, "--batch", batch};
    auto memory = asked, run = asked;
    memory.insert(memory.begin(), "memory");
    memory.insert(memory.end(), {"--device", "cuda:0", "--export", "json=-"});
    run.insert(run.end(), {"--workers", "1", "--prepare", "none", "--storage", "none", "--steps", "6", "--warmup",
                           "0", "--set", "run.probes=off"});
    const double estimated = json::parse(RunPipesim(memory).out)["total_bytes"];
    const double measured = RunOnGpu(run).report["memory"]["device_peak_bytes"];
    EXPECT_NEAR(estimated / kMiB, measured / kMiB, std::max(0.05 * measured / kMiB, 64.0)) << model;
  }
}

TEST_F(CudaCommand, ABatchBeyondTheMemoryIsRefusedWithOneThatFits) {
  const std::vector<std::string> words{"--model", "resnet18", "--batch", "1M", "--workers", "0", "--prepare", "none",
                                       "--storage", "none", "--steps", "1", "--set", "device.in_flight=1"};
  const Ran refused = RunOnGpu(words);
  EXPECT_EQ(refused.result.exit_code, 4);
  EXPECT_EQ(refused.report["result"]["status"], "oom");
  EXPECT_THAT(refused.report.dump(), AllOf(HasSubstr("not started"), HasSubstr("--force")));
}

TEST_F(CudaCommand, BenchHasBothHalvesAndTheTrap) {
  const CommandResult result =
      RunPipesim({"bench", "matmul", "--sizes", "8,1000", "--max-time", "20s", "--quiet", "--export", "json=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  ASSERT_EQ(document["series"].size(), 2U);
  const json& large = document["series"][1]["points"][1];
  EXPECT_LE(large["enqueued_s"], large["time_s"]);
  EXPECT_GT(document["comparison"]["points"][1]["ratio"], 1);
}

TEST_F(CudaCommand, DevicesNamesTheGpuThatTrainingUses) {
  const json devices = json::parse(RunPipesim({"devices", "--export", "json=-"}).out);
  ASSERT_FALSE(devices["gpus"].empty());
  const Ran ran = RunOnGpu({"--workers", "0", "--steps", "2"});
  EXPECT_EQ(devices["gpus"][0]["name"], ran.report["effective"]["device_name"]);
  EXPECT_EQ(devices["auto"], "cuda:0");
}

}  // namespace
}  // namespace pipesim
