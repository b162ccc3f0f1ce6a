// `pipesim sweep` of real points: crashes, limits, Ctrl-C, two sweeps of one journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/command.h"
#include "support/schema.h"
#include "sweep_commands.h"

namespace pipesim {
namespace {

using namespace std::chrono_literals;
using nlohmann::ordered_json;
using support::CommandOptions;
using support::CommandResult;
using support::ContentOf;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
using tests::Journal;
using tests::Sweep;
using tests::Waiting;

TEST(MeasuredSweep, RunsEachPointAndComparesItWithItsPrediction) {
  const CommandResult result =
      Sweep(Waiting({"--engine", "both", "--axis", "workers=1,4", "--duration", "500ms",
                     "--journal", Journal("both"), "--export", "json=-"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "sweep"));
  for (const auto& point : document["points"])
    EXPECT_LT(std::abs(point["prediction_error"].get<double>()), 0.3) << point;
  EXPECT_EQ(document["prediction_error"]["compared"], 2);
  EXPECT_GT(document["summary"]["wall_s"].get<double>(), 1);
  EXPECT_THAT(result.err, HasSubstr("point 1 of 2: workers "));
  EXPECT_THAT(result.err, HasSubstr("left"));
}

TEST(SweepReal, ACrashOfOnePointFailsItAlone) {
  CommandOptions options;
  options.while_running = [](int pid) { kill(support::RunProcessOf(pid), SIGSEGV); };
  const CommandResult result = Sweep(Waiting({"--axis", "workers=1,2", "--duration", "300ms",
                                              "--journal", Journal("crash"), "--quiet"}),
                                     options);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("1 ok, 1 failed"), HasSubstr("  failed  "), HasSubstr("SIGSEGV")));
}

TEST(SweepReal, APointThatCannotBeginKeepsItsOwnError) {
  const CommandResult result =
      Sweep({"--axis", "device=emulated,cuda:0", "--steps", "3", "--storage", "none", "--batch", "4", "--model", "mlp",
             "--set", "run.probes=off", "--journal", Journal("error"), "--export", "json=-"},
            {.environment = {"CUDA_VISIBLE_DEVICES="}});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  const std::string reason = ordered_json::parse(result.out)["points"][1]["run"]["reason"];
  EXPECT_THAT(reason, testing::AnyOf(HasSubstr("cuda:0"), HasSubstr("built without LibTorch")));
  EXPECT_THAT(reason, testing::Not(HasSubstr("exited with code")));
  EXPECT_LT(reason.size(), 420u);
  // The same words as on stderr, up to the end of its line.
  EXPECT_THAT(result.err, HasSubstr("pipesim: " + reason.substr(0, reason.find(';'))));
}

TEST(SweepReal, AWarningOfEachPointIsSaidOnce) {
  const CommandResult result = Sweep(Waiting({"--axis", "workers=1,2,4", "--steps", "3", "--cpus", "4096",
                                              "--journal", Journal("warning")}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string warning = "pipesim: warning: limits.cpus: 4096 processors are asked for";
  const std::size_t first = result.err.find(warning);
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(warning, first + 1), std::string::npos) << result.err;
  EXPECT_THAT(result.err, HasSubstr("point 3 of 3"));
}

TEST(SweepReal, APointThatRunsAwayIsEnded) {
  const CommandResult result =
      Sweep(Waiting({"--axis", "workers=1", "--duration", "30s", "--point-limit", "1s", "--journal",
                     Journal("limit"), "--quiet"}));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out,
              HasSubstr("ended at its limit of 1s; --resume with a longer"));
}

TEST(SweepReal, ALongerLimitRunsThePointsAgainThatWereEndedAtIt) {
  const std::string file = Journal("longer");
  const auto sweep = [&](const std::vector<std::string>& more) {
    // A batch takes 4 ms or 2.4 s, six of them longer than the limit.
    std::vector<std::string> words = {
        "--axis",    "prepare.cost=1ms,600ms",
        "--set",     "prepare.kind=wait",
        "--set",     "device={emulated: {base: 8ms}}",
        "--set",     "run.warmup=0",
        "--set",     "run.probes=off",
        "--batch",   "4",
        "--storage", "none",
        "--steps",   "6",
        "--workers", "1",
        "--journal", file,
        "--export",  "json=-"};
    words.insert(words.end(), more.begin(), more.end());
    return Sweep(words);
  };
  const auto points = [](const CommandResult& result) {
    return ordered_json::parse(result.out)["points"];
  };
  const auto short_limit = points(sweep({"--point-limit", "8s"}));
  EXPECT_EQ(short_limit[0]["run"]["status"], "ok");
  EXPECT_EQ(short_limit[1]["run"]["status"], "failed");
  EXPECT_EQ(short_limit[1]["run"]["limit_s"], 8);
  // Nothing changed, so nothing runs.
  EXPECT_THAT(sweep({"--point-limit", "8s", "--resume"}).err, HasSubstr("nothing is left to run"));
  EXPECT_THAT(sweep({"--point-limit", "60s"}).err,
              HasSubstr("2 of 2 points of this sweep, 1 ended at a limit that is longer now; --resume"));
  const CommandResult longer = sweep({"--point-limit", "60s", "--resume"});
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_EQ(points(longer)[0], short_limit[0]);
  EXPECT_EQ(points(longer)[1]["run"]["status"], "ok");
  EXPECT_EQ(points(sweep({"--resume"})), points(longer));
}

TEST(SweepReal, CtrlCDropsThePointAndReportsTheOthers) {
  const std::string file = Journal("interrupted");
  const std::vector<std::string> words =
      Waiting({"--axis", "workers=1,2,4", "--duration", "700ms", "--set", "run.probes=off", "--set",
               "run.warmup=0", "--journal", file, "--resume", "--quiet", "--export", "json=-"});
  CommandOptions options;
  options.while_running = [&](int pid) {
    // Until the first point is in the journal, and the second one runs.
    for (int i = 0; i < 6000 && ContentOf(file).find("\"point\"") == std::string::npos; ++i)
      std::this_thread::sleep_for(5ms);
    support::RunProcessOf(pid);
    kill(pid, SIGINT);
  };
  const CommandResult result = Sweep(words, options);
  EXPECT_EQ(result.exit_code, 130);
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "sweep"));
  EXPECT_TRUE(document["summary"]["interrupted"].get<bool>());
  EXPECT_EQ(document["points"].size(), 1u);
  const CommandResult resumed = Sweep(words);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(ordered_json::parse(resumed.out)["points"].size(), 3u);
}

TEST(SweepReal, ASecondSweepOnTheSameJournalIsRefused) {
  const std::string file = Journal("locked");
  const std::vector<std::string> words =
      Waiting({"--axis", "workers=1", "--duration", "1s", "--journal", file, "--quiet"});
  CommandOptions options;
  const std::filesystem::path other = TestFolder() / "second";
  std::filesystem::create_directories(other);
  options.while_running = [&](int pid) {
    support::RunProcessOf(pid);
    CommandOptions second;
    second.out = other / "out.txt";
    std::vector<std::string> again = words;
    again.push_back("--resume");
    const CommandResult refused = Sweep(again, second);
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_THAT(refused.err, HasSubstr("another sweep is writing it"));
    // Reading is no writing.
    const CommandResult report = support::RunPipesim({"report", file}, {.out = other / "report.txt"});
    EXPECT_EQ(report.exit_code, 0) << report.err;
    EXPECT_THAT(ContentOf(other / "report.txt"),
                AllOf(HasSubstr("0 of 1 point"), testing::Not(HasSubstr("interrupted"))));
  };
  EXPECT_EQ(Sweep(words, options).exit_code, 0);
}

}  // namespace
}  // namespace pipesim
