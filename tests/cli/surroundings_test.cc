// Closed and full streams, small limits, signals: every command still ends with its own exit code,
// and no report is lost without a word.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

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
using testing::Not;
using namespace std::chrono_literals;

const std::vector<std::string> kShortRun{"run", "--device", "emulated", "--workers",
                                         "1",   "--steps",  "40",       "--quiet"};
const std::vector<std::string> kShortPrediction{"predict", "--device", "emulated", "--duration",
                                                "5s"};
// Drawn costs: constant ones repeat themselves and are skipped.
const std::vector<std::string> kLongPrediction{
    "predict",    "--device", "emulated",  "--workers", "2",
    "--duration", "10h",      "--no-save", "--export",  "json=-",
    "--set",      "prepare={kind: wait, cost: {distribution: lognormal, mean: 1ms, stdev: 500us}}"};

CommandOptions Closing(std::initializer_list<int> descriptors) {
  CommandOptions options;
  options.before = [closed = std::vector<int>(descriptors)] {
    for (const int each : closed) close(each);
  };
  return options;
}

CommandOptions WithFullStderr() {
  CommandOptions options;
  options.before = [] { dup2(open("/dev/full", O_WRONLY), STDERR_FILENO); };
  return options;
}

CommandOptions Limited(int resource, rlim_t most) {
  CommandOptions options;
  options.before = [resource, most] {
    const rlimit limit{most, most};
    setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  };
  return options;
}

std::vector<std::string> With(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Streams, AnUnwritableStderrKeepsTheExitCode) {
  const std::vector<std::string> bad_key{"validate", "--set", "a=3"};
  EXPECT_EQ(RunPipesim(bad_key, Closing({STDERR_FILENO})).exit_code, 3);
  EXPECT_EQ(RunPipesim(bad_key, WithFullStderr()).exit_code, 3);
  EXPECT_EQ(RunPipesim({"nosuch"}, WithFullStderr()).exit_code, 2);
  EXPECT_EQ(RunPipesim({"nosuch"}, Closing({STDERR_FILENO})).exit_code, 2);
  EXPECT_EQ(RunPipesim(kShortPrediction, Closing({STDOUT_FILENO, STDERR_FILENO})).exit_code, 3);
}

TEST(Streams, AClosedStdoutIsAnErrorOfEveryCommand) {
  for (const auto& words : {kShortRun, kShortPrediction}) {
    const CommandResult result = RunPipesim(words, Closing({STDOUT_FILENO}));
    EXPECT_EQ(result.exit_code, 3) << words[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr("cannot write to standard output"),
                                  HasSubstr("pipesim report last")));
  }
  EXPECT_THAT(RunPipesim({"report", "last"}).out, HasSubstr("samples/s"));
}

TEST(Streams, AllOfThemClosedLoseNoExport) {
  const support::TemporaryFolder folder;
  const fs::path file = folder.path() / "run.json";
  EXPECT_EQ(RunPipesim(With(kShortRun, {"--export", "json=" + file.string()}),
                       Closing({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}))
                .exit_code,
            3);
  std::ifstream written(file);
  EXPECT_EQ(json::parse(written)["result"]["status"], "ok");
}

TEST(Signals, OneRequestDeliveredTwiceStillGivesAPrediction) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    CommandOptions options;
    options.while_running = [](int pid) {
      support::UntilItHandles(pid, SIGTERM);
      support::UntilItHandles(pid, SIGINT);
      std::this_thread::sleep_for(100ms);
      // Two signals of different numbers are delivered both, at once.
      kill(pid, SIGTERM);
      kill(pid, SIGINT);
    };
    const CommandResult result = RunPipesim(kLongPrediction, options);
    EXPECT_EQ(result.exit_code, 130);
    const json report = json::parse(result.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << result.out << result.err;
    EXPECT_EQ(report["result"]["status"], "interrupted");
  }
}

TEST(Signals, ASecondRequestEndsAPredictionAtOnce) {
  CommandOptions options;
  // A batch of 100 million samples: the engine looks at the signal once a batch.
  options.while_running = [](int pid) {
    support::UntilItHandles(pid, SIGINT);
    std::this_thread::sleep_for(100ms);
    kill(pid, SIGINT);
    std::this_thread::sleep_for(200ms);
    kill(pid, SIGINT);
  };
  EXPECT_EQ(RunPipesim(kLongPrediction, options).exit_code, 130);
}

TEST(Signals, APredictionWhoseDiagnosisIsCutShortIsInterrupted) {
  // Signals at many moments of a prediction of about 100 ms. It is either whole or interrupted, and
  // says so with its exit code.
  int interrupted = 0;
  for (int after = 10; after <= 200; after += 10) {
    CommandOptions options;
    options.while_running = [after](int pid) {
      std::this_thread::sleep_for(std::chrono::milliseconds(after));
      kill(pid, SIGINT);
    };
    const CommandResult result =
        RunPipesim({"predict", "--model", "resnet18", "--storage", "hdd", "--workers", "2",
                    "--device", "emulated", "--no-save", "--export", "json=-"},
                   options);
    SCOPED_TRACE("Ctrl-C after " + std::to_string(after) + " ms");
    if (result.exit_code == 128 + SIGINT && result.out.empty()) continue;  // not yet begun
    const json report = json::parse(result.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << result.out;
    EXPECT_EQ(report["result"]["status"] == "ok" ? 0 : 130, result.exit_code);
    if (result.exit_code == 130) ++interrupted;
  }
  RecordProperty("interrupted", interrupted);
}

TEST(Kept, AKilledRunLeavesNothingBesideItsExport) {
  const support::TemporaryFolder folder;
  CommandOptions options;
  options.while_running = [](int pid) {
    support::RunProcessOf(pid);
    std::this_thread::sleep_for(300ms);
    kill(pid, SIGKILL);
  };
  RunPipesim({"run", "--device", "emulated", "--workers", "1", "--duration", "50s", "--quiet",
              "--export", "json=" + (folder.path() / "run.json").string()},
             options);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Kept, TheNextCommandDoesNotOverwriteTheExport) {
  const support::TemporaryFolder folder;
  const std::string file = (folder.path() / "before.json").string();
  const CommandResult result =
      RunPipesim({"predict", "--device", "emulated", "--workers", "1", "--storage", "hdd",
                  "--brief", "--export", "json=" + file});
  EXPECT_THAT(result.out, AllOf(HasSubstr("Next  "), HasSubstr("  pipesim predict "),
                                Not(HasSubstr("--export"))));
  std::ifstream written(file);
  const json report = json::parse(written);
  for (const auto& word : report["diagnosis"]["recommendation"]["argv"])
    EXPECT_NE(word, "--export");
}

TEST(SmallLimits, ASmallFileSizeLimitIsSaidBeforeARun) {
  const CommandResult run = RunPipesim(kShortRun, Limited(RLIMIT_FSIZE, 8192));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("8 KiB"), HasSubstr("ulimit -f")));
  // A prediction needs no file; its export does.
  const CommandResult prediction = RunPipesim(kShortPrediction, Limited(RLIMIT_FSIZE, 8192));
  EXPECT_EQ(prediction.exit_code, 0);
  EXPECT_THAT(prediction.out, HasSubstr("samples/s"));
  EXPECT_THAT(prediction.err, HasSubstr("not kept"));
  const support::TemporaryFolder folder;
  const CommandResult exported = RunPipesim(
      With(kShortPrediction, {"--export", "json=" + (folder.path() / "p.json").string()}),
      Limited(RLIMIT_FSIZE, 8192));
  EXPECT_EQ(exported.exit_code, 3);
  EXPECT_THAT(exported.out, HasSubstr("samples/s"));
  EXPECT_THAT(exported.err, AllOf(HasSubstr("File too large"), HasSubstr("ulimit -f")));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(SmallLimits, ASweepWithoutFurtherThreadsPredictsInOne) {
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory is beyond the limit";
  // The stack of a thread counts as data: too little for one is next to too little for anything.
  int answered = 0;
  for (const rlim_t mebibytes : {6, 8, 10, 12, 16, 20, 24}) {
    const CommandResult result =
        RunPipesim({"sweep", "--engine", "predict", "--device", "emulated", "--axis",
                    "workers=0,1,2,4,8", "--quiet", "--export", "json=-"},
                   Limited(RLIMIT_DATA, mebibytes << 20));
    EXPECT_THAT(result.exit_code, testing::AnyOf(0, 4)) << mebibytes << " MiB: " << result.err;
    if (result.exit_code != 0) continue;
    EXPECT_EQ(json::parse(result.out)["summary"]["ok"], 5);
    ++answered;
  }
  EXPECT_GT(answered, 0);
}

TEST(SmallLimits, ATinyStackIsRefusedInWords) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers need more stack before main";
  for (const auto& words : {kShortRun, kShortPrediction, {"validate"}}) {
    const CommandResult result = RunPipesim(words, Limited(RLIMIT_STACK, 64 << 10));
    EXPECT_EQ(result.exit_code, 3) << words[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr("64 KiB"), HasSubstr("ulimit -s 8192")));
  }
}

}  // namespace
}  // namespace pipesim
