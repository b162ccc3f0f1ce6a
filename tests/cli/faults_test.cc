// Faults during a run: vanished or unreadable files, too little memory, a stopped process. Each
// ends with a report and its exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/command.h"
#include "support/sanitized.h"
#include "support/test_folder.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::CommandOptions;
using support::CommandResult;
using support::RunPipesim;
using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// 200 small JPEGs in ten classes.
class Photos : public testing::Test {
 protected:
  Photos() {
    const std::string command = std::string(PIPESIM_MAKE_DATASET) + " " + folder_.string() +
                                " --classes 10 --per-class 20 --size 32x32 >/dev/null";
    if (std::system(command.c_str()) != 0) ADD_FAILURE() << command;
  }

  /// A run of 4 s over them; calls `meanwhile` after 1.5 s.
  CommandResult Run(std::vector<std::string> more, std::function<void()> meanwhile = {}) const {
    std::vector<std::string> words{"--data",
                                   folder_.string(),
                                   "--workers",
                                   "2",
                                   "--batch",
                                   "8",
                                   "--duration",
                                   "4s",
                                   "--quiet",
                                   "--set",
                                   "device={emulated: {base: 2ms}}",
                                   "--set",
                                   "dataset.shape=[3, 16, 16]",
                                   "--export",
                                   "json=-"};
    words.insert(words.end(), more.begin(), more.end());
    CommandOptions options;
    if (meanwhile)
      options.while_running = [&](int) {
        std::this_thread::sleep_for(1500ms);
        meanwhile();
      };
    return RunPipesim(words, options);
  }
  void DeleteHalf() const {
    for (int label = 0; label < 10; label += 2)
      fs::remove_all(folder_ / ("class" + std::to_string(label)));
  }

  support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path() / "photos";
};

std::string FailureOf(const CommandResult& result) {
  return json::parse(result.out).value("/result/failure"_json_pointer, "");
}

TEST_F(Photos, AVanishedFileFailsTheRunAndIsNamed) {
  const CommandResult result = Run({}, [this] { DeleteHalf(); });
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(FailureOf(result), AllOf(HasSubstr("worker "), HasSubstr("/photos/class"),
                                       HasSubstr(".jpg"), HasSubstr("No such file")));
  EXPECT_GT(json::parse(result.out)["result"]["steps"], 0);  // what came before is reported
}

TEST_F(Photos, VanishedFilesAreCountedAndSkippedOnRequest) {
  const CommandResult result = Run({"--set", "storage.on_error=skip"}, [this] { DeleteHalf(); });
  EXPECT_EQ(result.exit_code, 0);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "ok");
  EXPECT_GE(report["result"]["bad_sample_count"], 100);
}

TEST_F(Photos, TheRunFailsWhenAllFilesVanishEvenIfSkippingIsAllowed) {
  const CommandResult result =
      Run({"--set", "storage.on_error=skip"}, [this] { fs::remove_all(folder_); });
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(FailureOf(result), HasSubstr("no usable sample"));
}

TEST_F(Photos, AfterABadFileNextNamesTheWayToSkipIt) {
  std::ofstream(folder_ / "class3" / "000007.jpg") << "no JPEG";
  const CommandResult result = Run({});
  EXPECT_EQ(result.exit_code, 4);
  const fs::path report = temporary_.path() / "report.json";
  std::ofstream(report) << result.out;
  const CommandResult text = RunPipesim({"report", report.string()});
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("fix the file above, or leave out files that cannot be used"),
                    HasSubstr("--set storage.on_error=skip")));
}

TEST_F(Photos, APipeIsNamedAndDoesNotBlockTheRun) {
  const fs::path pipe = folder_ / "class3" / "000007.jpg";  // opening one waits for a writer
  fs::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const CommandResult result = Run({});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(FailureOf(result), AllOf(HasSubstr("000007.jpg"), HasSubstr("not a regular file")));
}

TEST(Memory, TooLittleIsReportedBeforeTheRun) {
  // 7 batches of 300 GB
  const CommandResult result =
      RunPipesim({"--workers", "2", "--batch", "100k", "--quiet", "--device", "emulated", "--set",
                  "dataset={samples: 200k, shape: [3, 1000, 1000]}", "--export", "json=-"});
  EXPECT_EQ(result.exit_code, 4);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "oom");
  EXPECT_THAT(report["result"]["failure"].get<std::string>(),
              AllOf(HasSubstr("would hold"), HasSubstr("7 batches of "), HasSubstr("are free by "),
                    HasSubstr("--batch ")));
}

TEST(Memory, RespectsTheProcessLimitAndSuggestsFlagsThatFit) {
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory is beyond the limit";
  CommandOptions options;
  options.before = [] {
    const rlimit limit{400 << 20, 400 << 20};
    setrlimit(RLIMIT_DATA, &limit);
  };
  const std::vector<std::string> words{
      "--workers", "2",        "--steps", "10",
      "--device",  "emulated", "--set",   "dataset={samples: 1000, shape: [3, 1000, 1000]}",
      "--quiet"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return RunPipesim(more, options);
  };
  const CommandResult refused = with({"--batch", "64", "--export", "json=-"});
  EXPECT_EQ(refused.exit_code, 4);
  const std::string failure = FailureOf(refused);
  EXPECT_THAT(failure, HasSubstr("by ulimit -d"));
  const auto at = failure.find("--batch ");
  ASSERT_NE(at, std::string::npos) << failure;
  const std::string batch = failure.substr(at + 8, failure.find(' ', at + 8) - at - 8);
  const CommandResult fits = with({"--batch", batch});
  EXPECT_EQ(fits.exit_code, 0) << "batch " << batch << ": " << fits.out << fits.err;
}

TEST(Stopped, ARunContinuesAfterASecondAndWarns) {
  CommandOptions options;
  options.while_running = [](int pid) {
    const int run = support::RunProcessOf(pid);
    std::this_thread::sleep_for(2s);
    for (const int each : {pid, run}) kill(each, SIGSTOP);  // as Ctrl-Z does
    std::this_thread::sleep_for(1s);
    for (const int each : {pid, run}) kill(each, SIGCONT);
  };
  const CommandResult result =
      RunPipesim({"--workers", "2", "--batch", "8", "--duration", "5s", "--warmup", "100ms",
                  "--quiet", "--set", "prepare={kind: wait, cost: 500us}", "--set", "storage=none",
                  "--set", "device={emulated: {base: 5ms}}", "--export", "json=-"},
                 options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "ok");
  std::string codes;
  for (const json& warning : report["warnings"]) codes += warning["code"].get<std::string>() + " ";
  EXPECT_THAT(codes, HasSubstr("stalled"));
  const json& consumer = report["consumer"];
  const double wall = consumer["wall_s"].get<double>();
  EXPECT_GT(wall, 4.0);
  EXPECT_LE(consumer["other_s"].get<double>(), 0.005 * wall);
  // One step of 8 samples per 5 ms, and one second of pause.
  EXPECT_LT(report["result"]["samples_per_s"].get<double>(), 8 / 0.005);
}

#ifdef PIPESIM_CLOCK_STEPS
TEST(Clock, JumpsOfTheWallClockChangeNothing) {
  CommandOptions options;
  options.environment = {"LD_PRELOAD=" PIPESIM_CLOCK_STEPS};
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult result = RunPipesim(
      {"--workers", "2", "--batch", "8", "--duration", "4s", "--quiet", "--set",
       "loader.timeout=5s", "--set", "prepare={kind: wait, cost: 500us}", "--storage", "hdd", "--set",
       "device={emulated: {base: 5ms}}", "--export", "json=-"},
      options);
  const auto took = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GE(took, 4s);
  EXPECT_LT(took, 30s);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "ok");
  EXPECT_NEAR(report["consumer"]["wall_s"].get<double>(), 4, 1.5);
  EXPECT_LT(report["result"]["samples_per_s"].get<double>(), 1.01 * 8 / 0.005);
}
#endif

}  // namespace
}  // namespace pipesim
