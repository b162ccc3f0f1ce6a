// Resource limits: each test sets a limit as a user would and measures what the run used. On a
// loaded machine a run still stays below its limit; that it uses more without the limit can be
// checked only if other programs leave it the cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "support/cgroup.h"
#include "support/command.h"

/// Skips the test if other programs used half a core or more during the run of `report`.
#define SKIP_WHERE_OTHERS_RUN(report)                                                        \
  if (Foreign(report) > 0.5) GTEST_SKIP() << "other programs use " << Foreign(report) << " cores"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::CommandOptions;
using support::CommandResult;
using support::RunPipesim;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr double kOneCore = 1.05;  // one core plus rounding of the readings

int AllowedCpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Samples that burn a millisecond each; the device takes no time.
json Burning(std::vector<std::string> more, const CommandOptions& options = {}) {
  std::vector<std::string> words{"--batch",
                                 "8",
                                 "--duration",
                                 "3s",
                                 "--quiet",
                                 "--no-save",
                                 "--prepare",
                                 "1ms",
                                 "--storage",
                                 "none",
                                 "--set",
                                 "device={emulated: {base: 100us}}",
                                 "--export",
                                 "json=-"};
  words.insert(words.end(), more.begin(), more.end());
  const CommandResult result = RunPipesim(words, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}
double Foreign(const json& report) { return report["resources"]["foreign_cores"].get<double>(); }
double CoresUsed(const json& report) { return report["resources"]["cores_used"].get<double>(); }

TEST(Limits, FourWorkersUseAtMostTheNumberOfCpus) {
  if (AllowedCpus() < 2) GTEST_SKIP() << "one processor binds without any limit";
  const json report = Burning({"--workers", "4", "--cpus", "1"});
  EXPECT_EQ(report["resources"]["cores"], 1);
  EXPECT_LE(CoresUsed(report), kOneCore);
  const json free = Burning({"--workers", "4", "--cpus", "2"});
  SKIP_WHERE_OTHERS_RUN(free);
  EXPECT_GT(CoresUsed(free), kOneCore);
}

TEST(Limits, EveryThreadStaysOnTheListedCpus) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &set)) --last;
  std::vector<std::string> allowed;
  CommandOptions options;
  options.while_running = [&](int pid) {
    const int run = support::RunProcessOf(pid);
    std::this_thread::sleep_for(1500ms);
    for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(run) + "/task")) {
      std::ifstream status(task.path() / "status");
      for (std::string line; std::getline(status, line);)
        if (line.rfind("Cpus_allowed_list:", 0) == 0) allowed.push_back(line.substr(19));
    }
  };
  const std::string list = std::to_string(last) + "-" + std::to_string(last);
  const json report = Burning({"--workers", "3", "--cpus", list}, options);
  EXPECT_GE(allowed.size(), 4u);  // the training thread and its workers
  EXPECT_THAT(allowed, testing::Each(std::to_string(last)));
  EXPECT_LE(CoresUsed(report), kOneCore);
}

TEST(Limits, WorkerThreadsGiveOneWorkerASecondCore) {
  if (AllowedCpus() < 2) GTEST_SKIP() << "needs two processors";
  EXPECT_LE(CoresUsed(Burning({"--workers", "1"})), kOneCore);
  const json two = Burning({"--workers", "1", "--set", "limits.worker_threads=2"});
  SKIP_WHERE_OTHERS_RUN(two);
  EXPECT_GT(CoresUsed(two), kOneCore);
}

/// A cgroup (version 1 or 2) with a quota of half a core; nothing without permission to create one.
class HalfACore {
 public:
  HalfACore() {
    for (const char* parent : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
      group_.emplace(parent);
      const bool version1 =
          group_->Set("cpu.cfs_period_us", "100000") && group_->Set("cpu.cfs_quota_us", "50000");
      if (version1 || group_->Set("cpu.max", "50000 100000")) return;
      group_.reset();
    }
  }
  bool made() const { return group_.has_value(); }
  void Enter() const { group_->Enter(); }

 private:
  std::optional<support::Cgroup> group_;
};

TEST(Limits, ACgroupQuotaLimitsTheRunAndIsReportedAsThrottling) {
  const HalfACore group;
  if (!group.made()) GTEST_SKIP() << "this process may not make a cgroup with a quota";
  CommandOptions options;
  options.before = [&] { group.Enter(); };
  const json report = Burning({"--workers", "2"}, options);
  EXPECT_NEAR(report["resources"]["cores"].get<double>(), 0.5, 1e-9);
  EXPECT_LE(CoresUsed(report), 0.55);
  EXPECT_GT(report["resources"]["throttled_fraction"].get<double>(), 0.1);
  EXPECT_THAT(report["warnings"].dump(), HasSubstr("throttled"));
}

#if PIPESIM_WITH_TORCH
/// LibTorch trains on the CPU, continuously or with waits for data in between.
json Training(const char* prepare, std::vector<std::string> more) {
  std::vector<std::string> words{"--model",    "mlp",    "--device",  "cpu",
                                 "--batch",    "256",    "--workers", "1",
                                 "--duration", "4s",     "--quiet",   "--no-save",
                                 "--storage",  "none",   "--set",     std::string("prepare=") + prepare,
                                 "--export",   "json=-"};
  words.insert(words.end(), more.begin(), more.end());
  const CommandResult result = RunPipesim(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out);
}

TEST(Limits, TrainingUsesAsManyCoresAsComputeThreads) {
  if (AllowedCpus() < 2) GTEST_SKIP() << "needs two processors";
  const auto cores = [](const json& report) {
    return report["resources"]["cores_used_training"].get<double>();
  };
  EXPECT_LE(cores(Training("none", {"--threads", "1"})), kOneCore);
  const json two = Training("none", {"--threads", "2"});
  SKIP_WHERE_OTHERS_RUN(two);
  EXPECT_GT(cores(two), kOneCore);
}

TEST(Limits, APassiveWaitFreesTheCoresBetweenSteps) {
  if (AllowedCpus() < 2) GTEST_SKIP() << "needs two processors";
  // A batch every 10 ms; its step is shorter.
  const auto with = [](const char* wait) {
    return Training("{kind: wait, cost: 40us}",
                    {"--threads", "2", "--set", std::string("limits.omp_wait=") + wait});
  };
  const json passive = with("passive"), spinning = with("default");
  SKIP_WHERE_OTHERS_RUN(passive);
  SKIP_WHERE_OTHERS_RUN(spinning);
  RecordProperty("passive_over_default", std::to_string(CoresUsed(passive) / CoresUsed(spinning)));
  EXPECT_LT(CoresUsed(passive), 0.9 * CoresUsed(spinning));
}

TEST(Contention, DisappearsWithFewerThreads) {
  if (AllowedCpus() < 2) GTEST_SKIP() << "needs two processors";
  // Eight workers burn 6.4 ms a batch beside two threads of LibTorch, on two cores.
  const auto beside_workers = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--batch", "64", "--workers", "8", "--threads", "2", "--cpus", "2"});
    return Training("{kind: burn, cost: 100us}", std::move(more));
  };
  const json crowded = beside_workers({});
  SKIP_WHERE_OTHERS_RUN(crowded);
  EXPECT_EQ(crowded["diagnosis"]["bottleneck"], "cpu-contention") << crowded["diagnosis"];
  std::vector<std::string> fewer;
  for (const auto& [path, value] : crowded["diagnosis"]["recommendation"]["set"].items())
    fewer.insert(fewer.end(), {"--set", path + "=" + value.get<std::string>()});
  ASSERT_FALSE(fewer.empty());
  const json relieved = beside_workers(fewer);
  SKIP_WHERE_OTHERS_RUN(relieved);
  const double gain = relieved["result"]["samples_per_s"].get<double>() /
                          crowded["result"]["samples_per_s"].get<double>() -
                      1;
  RecordProperty("gain", std::to_string(gain));
  EXPECT_GE(gain, 0.05);
  EXPECT_NE(relieved["diagnosis"]["bottleneck"], "cpu-contention") << relieved["diagnosis"];
}
#endif

}  // namespace
}  // namespace pipesim
