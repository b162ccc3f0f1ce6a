// Whole commands on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.h"

namespace pipesim {
namespace {

using nlohmann::json;
using support::CommandResult;
using support::RunPipesim;
using testing::AllOf;
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

TEST_F(CudaCommand, ReportsNvmlUtilization) {
  const Ran ran = RunOnGpu({"--workers", "2", "--model", "resnet18", "--batch", "64", "--prepare",
                            "none", "--storage", "none", "--duration", "5s"});
  ASSERT_EQ(ran.result.exit_code, 0) << ran.result.err;
  const json& nvml = ran.report["resources"]["gpu_utilization_nvml"];
  ASSERT_FALSE(nvml.is_null());
  EXPECT_GT(nvml.get<double>(), 0.2);
  EXPECT_LE(nvml.get<double>(), 1);
  RecordProperty("nvml", nvml.dump());
  RecordProperty("au", ran.report["result"]["accelerator_utilization"].dump());
}

TEST_F(CudaCommand, AModelThatDoesNotFitEndsAsOomWithRequestedAndFreeMemory) {
  const Ran ran =
      RunOnGpu({"--workers", "0", "--model", "resnet50", "--batch", "16384", "--steps", "2",
                "--set", "dataset.samples=16384", "--prepare", "none", "--storage", "none"});
  EXPECT_EQ(ran.result.exit_code, 4) << ran.result.err;
  EXPECT_EQ(ran.report["result"]["status"], "oom");
  EXPECT_THAT(ran.report["result"]["failure"].get<std::string>(),
              AllOf(HasSubstr("GiB"), HasSubstr("free")));
}

}  // namespace
}  // namespace pipesim
