// The supervised run process: reports after a crash or kill, signals, cleanup.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "support/cgroup.h"
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

/// A run that would take minutes.
std::vector<std::string> LongRun(std::vector<std::string> more = {}) {
  std::vector<std::string> words{"--workers", "2",     "--batch",
                                 "8",         "--set", "run.duration=50s",
                                 "--quiet",   "--set", "device={emulated: {base: 5ms}}"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// 'R', 'S', 'T', 'Z', ...; nullopt once it has ended.
std::optional<char> StateOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  return text.at(text.rfind(')') + 2);
}
bool GoneWithin(int pid, std::chrono::seconds most) {
  const auto limit = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < limit) {
    if (const auto state = StateOf(pid); !state || *state == 'Z') return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

/// Sends `signal` to the run's own process after a while.
CommandOptions SignalToTheRun(int signal) {
  CommandOptions options;
  options.while_running = [signal](int pid) {
    const int run = support::RunProcessOf(pid);
    std::this_thread::sleep_for(2s);
    kill(run, signal);
  };
  return options;
}

TEST(RunProcess, WhenKilledStillReportsItsProgress) {
  const CommandResult result = RunPipesim(LongRun({"--export", "json=-"}), SignalToTheRun(SIGKILL));
  EXPECT_EQ(result.exit_code, 4);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "failed");
  EXPECT_THAT(report["result"]["failure"].get<std::string>(),
              AllOf(HasSubstr("signal 9 (SIGKILL)"), HasSubstr(" steps and "),
                    HasSubstr(" samples/s"), Not(HasSubstr("until then 0 steps"))));
  EXPECT_EQ(report["experiment"]["loader.workers"]["value"], "2");
  const CommandResult kept = RunPipesim({"report", "last"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("SIGKILL"));
}

TEST(RunProcess, ACrashIsReportedAsAnInternalError) {
  // The signal of std::terminate. (A sanitizer would catch SIGSEGV and exit.)
  const CommandResult result = RunPipesim(LongRun(), SignalToTheRun(SIGABRT));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("internal error"), HasSubstr("SIGABRT")));
}

TEST(RunProcess, DiesWithTheProcessThatStartedIt) {
  int run = 0;
  CommandOptions options;
  options.while_running = [&run](int pid) {
    run = support::RunProcessOf(pid);
    std::this_thread::sleep_for(500ms);
    kill(pid, SIGKILL);
  };
  EXPECT_EQ(RunPipesim(LongRun(), options).exit_code, 128 + SIGKILL);
  EXPECT_TRUE(GoneWithin(run, 10s));
}

TEST(RunProcess, ASecondSignalExitsAtOnceAndLeavesNoProcess) {
  int run = 0;
  CommandOptions options;
  options.while_running = [&run](int pid) {
    run = support::RunProcessOf(pid);
    support::UntilItHandles(run, SIGINT);
    std::this_thread::sleep_for(1s);
    kill(pid, SIGINT);
    std::this_thread::sleep_for(300ms);
    kill(pid, SIGINT);
  };
  const support::TemporaryFolder folder;
  // A step of 30 s, which the drain would abandon after two seconds.
  const CommandResult result =
      RunPipesim({"--workers", "0", "--batch", "8", "--steps", "2", "--quiet", "--set",
                  "device={emulated: {base: 30s}}", "--export",
                  "json=" + (folder.path() / "run.json").string()},
                 options);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(GoneWithin(run, 10s));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(RunProcess, OneRequestDeliveredTwiceDrains) {
  CommandOptions options;
  options.while_running = [](int pid) {
    const int run = support::RunProcessOf(pid);
    support::UntilItHandles(run, SIGTERM);
    std::this_thread::sleep_for(2s);
    // Like a terminal and timeout(1): to the group, and to the process.
    for (const int each : {run, pid, pid}) kill(each, SIGTERM);
  };
  const CommandResult result = RunPipesim(LongRun({"--export", "json=-"}), options);
  EXPECT_EQ(result.exit_code, 130);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "interrupted");
  EXPECT_GT(report["result"]["steps"], 30);
}

TEST(RunProcess, SighupDrainsUnlessIgnored) {
  CommandOptions options;
  bool ignored = false;
  options.while_running = [&ignored](int pid) {
    const int run = support::RunProcessOf(pid);
    if (!ignored) support::UntilItHandles(run, SIGHUP);
    std::this_thread::sleep_for(1s);
    kill(pid, SIGHUP);
  };
  EXPECT_EQ(RunPipesim(LongRun(), options).exit_code, 130);
  options.before = [] { signal(SIGHUP, SIG_IGN); };  // nohup(1)
  ignored = true;
  EXPECT_EQ(RunPipesim({"--workers", "1", "--quiet", "--steps", "300", "--set",
                        "device={emulated: {base: 5ms}}"},
                       options)
                .exit_code,
            0);
}

TEST(RunProcess, CtrlCAtAnyMomentEndsIt) {
  const unsigned seed = std::random_device()();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> words = {
      "--batch", "8", "--steps", "100", "--quiet", "--no-save", "--set", "device={emulated: {base: 2ms}}",
      "--export", "json=-"};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(RunPipesim(words).exit_code, 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  int reports = 0;
  for (int round = 0; round < 50; ++round) {
    // Half of them in the first fifth, during start-up; a third of the others after the run has ended.
    const auto most = round % 2 == 0 ? whole / 5 : whole * 3 / 2;
    const std::chrono::microseconds after(random() % static_cast<unsigned>(most.count() + 1));
    CommandOptions options;
    // The report of a run of few steps predicts for a second and a half: 15 s and more under the thread sanitizer.
    options.limit = support::kSanitized ? 90s : 20s;
    options.while_running = [after](int pid) {
      std::this_thread::sleep_for(after);
      kill(pid, SIGINT);
    };
    std::vector<std::string> run = {"--workers", std::to_string(random() % 4)};
    run.insert(run.end(), words.begin(), words.end());
    const CommandResult result = RunPipesim(run, options);
    SCOPED_TRACE("Ctrl-C after " + std::to_string(after.count()) + " us: " + result.err);
    EXPECT_THAT(result.exit_code, testing::AnyOf(0, 130));
    if (result.out.empty()) {
      EXPECT_EQ(result.exit_code, 130);
      continue;
    }
    const json report = json::parse(result.out, nullptr, false);
    ASSERT_FALSE(report.is_discarded()) << result.out;
    EXPECT_EQ(report["result"]["status"], result.exit_code == 0 ? "ok" : "interrupted");
    ++reports;
  }
  EXPECT_GT(reports, 0);
}

TEST(RunProcess, AFullStandardOutputLosesNoMeasurement) {
  CommandOptions options;
  options.out = "/dev/full";
  const CommandResult result =
      RunPipesim({"--workers", "2", "--steps", "40", "--quiet", "--device", "emulated"}, options);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("standard output"), HasSubstr("pipesim report last")));
  EXPECT_THAT(RunPipesim({"report", "last"}).out, HasSubstr("samples/s"));
}

TEST(RunProcess, AStateFolderThatCannotBeWrittenIsAWarning) {
  CommandOptions options;
  options.environment = {"XDG_STATE_HOME=/proc/no-such"};
  const CommandResult result =
      RunPipesim({"--workers", "2", "--steps", "40", "--quiet", "--device", "emulated"}, options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("not kept"));
  EXPECT_THAT(result.out, HasSubstr("samples/s"));
}

TEST(RunProcess, AFullLogDoesNotDisturbIt) {
  CommandOptions options;
  options.before = [] { dup2(open("/dev/full", O_WRONLY), STDERR_FILENO); };
  EXPECT_EQ(RunPipesim({"--workers", "2", "--duration", "11s", "--device", "emulated"}, options)
                .exit_code,
            0);
}

/// A memory cgroup of 320 MiB below this process's own, which has room for a run and its supervisor
/// under sanitizers; nothing without version 1 in its usual place or without permission to create
/// one.
class MemoryCgroup {
 public:
  MemoryCgroup() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const auto at = line.find(":memory:");
      if (at != std::string::npos) group_.emplace("/sys/fs/cgroup/memory" + line.substr(at + 8));
    }
    if (group_ && !group_->Set("memory.limit_in_bytes", std::to_string(320 << 20))) group_.reset();
  }
  bool usable() const { return group_.has_value(); }
  void Enter() const { group_->Enter(); }

 private:
  std::optional<support::Cgroup> group_;
};

/// Allocates memory in the cgroup until the kernel kills its largest process.
int StartGreedyNeighbour(const MemoryCgroup& group) {
  const int pid = fork();
  if (pid != 0) return pid;
  group.Enter();
  for (;;) {
    // Touch each page, because only page faults trigger the OOM killer; volatile keeps the writes.
    auto* const block = static_cast<volatile char*>(std::malloc(1 << 20));
    for (int at = 0; block != nullptr && at < 1 << 20; at += 4096) block[at] = 1;
    std::this_thread::sleep_for(1ms);
  }
}

TEST(OomKill, IsReportedAsOutOfMemory) {
  const MemoryCgroup group;
  if (!group.usable()) GTEST_SKIP() << "no memory cgroup of version 1 may be made here";
  int neighbour = 0;
  CommandOptions options;
  options.before = [&group] { group.Enter(); };
  options.while_running = [&](int pid) {
    const int run = support::RunProcessOf(pid);
    std::this_thread::sleep_for(1s);
    neighbour = StartGreedyNeighbour(group);
    GoneWithin(run, 30s);
    kill(neighbour, SIGKILL);
    waitpid(neighbour, nullptr, 0);
  };
  // The run holds 7 batches of 24 MB and is the largest.
  const CommandResult result =
      RunPipesim({"--workers", "2", "--batch", "8", "--duration", "50s", "--quiet", "--set",
                  "dataset={samples: 1000, shape: [3, 1000, 1000]}", "--set",
                  "device={emulated: {base: 50ms}}", "--set", "prepare=none", "--set",
                  "storage=none", "--export", "json=-"},
                 options);
  EXPECT_EQ(result.exit_code, 4) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["result"]["status"], "oom") << report["result"]["failure"];
  EXPECT_THAT(report["result"]["failure"].get<std::string>(), HasSubstr("kernel killed"));
}

}  // namespace
}  // namespace pipesim
