// `pipesim sweep`: predicted points, the journal after kills, shards, errors.
// PIPESIM_UPDATE_GOLDEN=1 rewrites the golden text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "support/command.h"
#include "support/experiments.h"
#include "support/golden.h"
#include "support/schema.h"
#include "sweep_commands.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using support::CommandOptions;
using support::CommandResult;
using support::ContentOf;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
using tests::Journal;
using tests::Sweep;
using tests::Waiting;

const std::string kShipped = PIPESIM_SOURCE_DIR "/configs/sweeps/workers_by_batch.yaml";

std::string WithoutContext(const std::string& text) {
  ordered_json document = ordered_json::parse(text);
  document.erase("context");
  document.erase("journal");
  document["sweep"].erase("shard");
  return document.dump(2);
}

TEST(Sweep, AnswersWithTheBestTheSmallestAndWhereTheBottleneckChanges) {
  const CommandResult result =
      Sweep(Waiting({"--engine", "predict", "--axis", "workers=0,1,2,4,8", "--export", "json=-"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "sweep"));
  ASSERT_EQ(document["points"].size(), 5u);
  // A batch takes 32 ms / workers, a step 8 ms: 16 / 8 ms = 2,000 samples/s from 4 workers on.
  EXPECT_NEAR(document["points"][1]["predicted"]["samples_per_s"].get<double>(), 500, 10);
  EXPECT_NEAR(document["points"][4]["predicted"]["samples_per_s"].get<double>(), 2000, 20);
  EXPECT_EQ(document["enough"]["workers"], 4);
  EXPECT_TRUE(document["points"][1]["predicted"]["enough"].is_null());
  EXPECT_TRUE(document["points"][3]["pareto"].get<bool>());
  EXPECT_EQ(document["points"][0]["predicted"]["bottleneck"], "loader-bound");
  EXPECT_EQ(document["points"][4]["predicted"]["bottleneck"], "compute-bound");
  EXPECT_TRUE(document["points"][4]["run"].is_null());
  EXPECT_TRUE(document["journal"].is_null());
}

TEST(Sweep, APredictedPointIsWhatPredictSays) {
  const CommandResult swept = Sweep({kShipped, "--engine", "predict", "--axis", "workers=2",
                                     "--axis", "batch=32", "--export", "json=-"});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const CommandResult one =
      RunPipesim({"predict", kShipped, "--workers", "2", "--batch", "32", "--export", "json=-"});
  const auto point = ordered_json::parse(swept.out)["points"][0]["predicted"];
  const auto report = ordered_json::parse(one.out);
  EXPECT_EQ(point["samples_per_s"], report["result"]["samples_per_s"]);
  EXPECT_EQ(point["bottleneck"], report["diagnosis"]["bottleneck"]);
  EXPECT_EQ(point["confidence"], report["diagnosis"]["confidence"]);
  // Of the best point alone.
  EXPECT_EQ(point["enough"]["workers"], report["diagnosis"]["enough"]["workers"]);
}

// Drawn costs, 2 of 16 samples in 8 ms: half-width 0.5 % only after thousands of steps.
const std::vector<std::string> kDrawn = {
    "--batch",   "16",     "--set",   "prepare={kind: wait, cost: {distribution: exponential, mean: 2ms}}",
    "--storage", "none",   "--set",   "device={emulated: {base: 8ms}}",
    "--steps",   "200000", "--engine", "predict", "--export", "json=-", "--workers", "2"};

TEST(SweepPrecision, APointEndsWhenItIsAsExactAndIsWhatPredictSays) {
  const auto sweep = [](std::vector<std::string> more) {
    more.insert(more.end(), kDrawn.begin(), kDrawn.end());
    more.insert(more.end(), {"--axis", "prefetch=1,2"});
    return ordered_json::parse(Sweep(more).out)["points"][1]["predicted"];
  };
  const auto half_width = [](const ordered_json& of, const char* low, const char* high) {
    return (of[high].get<double>() - of[low].get<double>()) / 2 /
           of["samples_per_s"].get<double>();
  };
  std::vector<std::string> words = {"predict", "--prefetch", "2", "--precision", "1%"};
  for (const std::string& word : kDrawn)
    if (word != "--engine" && word != "predict") words.push_back(word);
  const auto report = ordered_json::parse(RunPipesim(words).out);
  const auto& result = report["result"];
  const double alone = (result["samples_per_s_interval"]["high"].get<double>() -
                        result["samples_per_s_interval"]["low"].get<double>()) / 2 /
                       result["samples_per_s"].get<double>();
  EXPECT_EQ(result["stopped_by"], "enough");
  EXPECT_LE(alone, 0.01);
  EXPECT_LT(result["steps"].get<int>(), 100'000);
  const auto point = sweep({"--precision", "1%"});
  EXPECT_EQ(point["samples_per_s"], result["samples_per_s"]);
  EXPECT_EQ(point["bottleneck"], report["diagnosis"]["bottleneck"]);
  EXPECT_EQ(point["confidence"], report["diagnosis"]["confidence"]);
  const auto finer = sweep({"--precision", "0.3%"});
  EXPECT_LE(half_width(finer, "samples_per_s_low", "samples_per_s_high"), 0.003);
  EXPECT_LT(half_width(finer, "samples_per_s_low", "samples_per_s_high"),
            half_width(point, "samples_per_s_low", "samples_per_s_high"));
}

TEST(Sweep, ItsTextIsAsRecorded) {
  // The shipped file by its name in the repository, so that the commands in the text are the same.
  const CommandResult result =
      Sweep({"configs/sweeps/workers_by_batch.yaml", "--engine", "predict", "--cpus", "8"},
            {.folder = PIPESIM_SOURCE_DIR});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  support::ExpectGolden("sweep_predicted.txt", result.out);
}

TEST(Sweep, ReportShowsItAgain) {
  const std::string file = (TestFolder() / "sweep.json").string();
  const CommandResult swept =
      Sweep(Waiting({"--engine", "predict", "--axis", "workers=1,2", "--export", "json=" + file}));
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  EXPECT_EQ(RunPipesim({"report", "last"}).out, swept.out);
  EXPECT_EQ(RunPipesim({"report", file}).out, swept.out);
  EXPECT_EQ(RunPipesim({"predict", "--from", file}).exit_code, 3);
}

TEST(Sweep, IsTheSameOnAnyNumberOfThreads) {
  const auto on = [](int cpus) {
    CommandOptions options;
    if (cpus == 1)
      options.before = [] {
        cpu_set_t one;
        CPU_ZERO(&one);
        cpu_set_t allowed;
        sched_getaffinity(0, sizeof allowed, &allowed);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
          if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &one);
            break;
          }
        sched_setaffinity(0, sizeof one, &one);
      };
    return WithoutContext(Sweep({kShipped, "--engine", "predict", "--cpus", "8", "--profile",
                                 "default", "--export", "json=-"},
                                options)
                              .out);
  };
  EXPECT_EQ(on(1), on(2));
}

TEST(Sweep, NextIsACommandThatRuns) {
  const CommandResult swept =
      Sweep(Waiting({"--engine", "predict", "--axis", "workers=1,2,8", "--export", "json=-"}));
  auto words = ordered_json::parse(swept.out)["next"]["argv"].get<std::vector<std::string>>();
  words.erase(words.begin());
  EXPECT_EQ(words.front(), "predict");
  const CommandResult next = RunPipesim(words);
  EXPECT_EQ(next.exit_code, 0) << next.err;
}

TEST(SweepJournal, KilledAtAnyMomentItGoesOnToTheSameResult) {
  const auto words = [](const std::string& journal) {
    return std::vector<std::string>{kShipped,  "--engine",  "predict", "--cpus",
                                    "8",       "--journal", journal,   "--resume",
                                    "--quiet", "--export",  "json=-"};
  };
  const auto begin = std::chrono::steady_clock::now();
  const std::string whole = Sweep(words(Journal("whole"))).out;
  const auto length = std::chrono::steady_clock::now() - begin;
  const std::string file = Journal("killed");
  std::mt19937 random(1);
  int kills = 0;
  CommandResult last;
  for (int attempt = 0; attempt < 200; ++attempt) {
    CommandOptions options;
    // Later and later, so that one attempt gets to its end.
    const double share = std::uniform_real_distribution<>(0, 0.25 + 0.02 * attempt)(random);
    options.while_running = [&](int pid) {
      std::this_thread::sleep_for(share * length);
      kill(pid, SIGKILL);
    };
    last = Sweep(words(file), options);
    if (last.exit_code != 128 + SIGKILL) break;
    ++kills;
  }
  EXPECT_GE(kills, 1);
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(WithoutContext(last.out), WithoutContext(whole));
  // Each point is there once: none was predicted twice.
  EXPECT_EQ(std::count_if(std::istreambuf_iterator<char>(std::ifstream(file).rdbuf()), {},
                          [](char c) { return c == '\n'; }),
            1 + 15);
}

TEST(SweepJournal, IsAReportOfThePointsThatItHolds) {
  const std::string file = Journal("reported");
  const auto sweep = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--engine", "predict", "--axis", "workers=1,2,4", "--journal", file,
                             "--export", "json=-"});
    return ordered_json::parse(Sweep(Waiting(more)).out);
  };
  ordered_json whole = sweep({});
  const auto read = [&] {
    return ordered_json::parse(RunPipesim({"report", file, "--export", "json=-"}).out);
  };
  const ordered_json reported = read();
  EXPECT_TRUE(tests::FitsSchema(reported, "sweep"));
  const std::size_t best = whole["best"];
  EXPECT_EQ(reported["best"], best);
  // The journal does not predict what is enough between its points.
  whole["points"][best]["predicted"]["enough"] = nullptr;
  EXPECT_EQ(reported["points"], whole["points"]);
  EXPECT_EQ(reported["sweep"], whole["sweep"]);
  fs::resize_file(file, ContentOf(file).size() - 30);
  EXPECT_EQ(read()["summary"]["done"], 2);
  EXPECT_TRUE(read()["summary"]["interrupted"].get<bool>());
}

TEST(SweepJournal, ATornLastLineIsPredictedAgain) {
  const std::string file = Journal("torn");
  const std::vector<std::string> words =
      Waiting({"--engine", "predict", "--axis", "workers=1,2,4", "--journal", file, "--resume",
               "--export", "json=-"});
  const std::string whole = Sweep(words).out;
  const std::string journal = ContentOf(file);
  for (const std::size_t cut : {1u, 30u, 400u}) {
    fs::resize_file(file, journal.size() - cut);
    EXPECT_EQ(WithoutContext(Sweep(words).out), WithoutContext(whole)) << cut;
  }
}

TEST(SweepJournal, OfAnotherExperimentIsRefusedWithTheDifference) {
  const std::string file = Journal("other");
  ASSERT_EQ(
      Sweep(Waiting({"--engine", "predict", "--axis", "workers=1,2", "--journal", file})).exit_code,
      0);
  const std::string before = ContentOf(file);
  const CommandResult axis = Sweep(
      Waiting({"--engine", "predict", "--axis", "workers=1,4", "--journal", file, "--resume"}));
  EXPECT_EQ(axis.exit_code, 3);
  EXPECT_THAT(axis.err, AllOf(HasSubstr("of another sweep"),
                              HasSubstr("axis 1: loader.workers: '1,2' there, '1,4' here")));
  const CommandResult setting = Sweep(Waiting({"--engine", "predict", "--axis", "workers=1,2",
                                               "--journal", file, "--resume", "--seed", "7"}));
  EXPECT_THAT(setting.err, HasSubstr("run.seed: '1' there, '7' here"));
  const CommandResult precision =
      Sweep(Waiting({"--engine", "predict", "--axis", "workers=1,2", "--journal", file, "--resume",
                     "--precision", "0.5%"}));
  EXPECT_THAT(precision.err, HasSubstr("precision: absent there, '0.005' here"));
  EXPECT_EQ(ContentOf(file), before);
}

TEST(SweepJournal, IsNotBegunTwiceWithoutResume) {
  const std::string file = Journal("twice");
  const std::vector<std::string> words =
      Waiting({"--engine", "predict", "--axis", "workers=1,2", "--journal", file});
  ASSERT_EQ(Sweep(words).exit_code, 0);
  const CommandResult again = Sweep(words);
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, AllOf(HasSubstr("already holds 2 of 2 points of this sweep, so nothing is left"),
                               HasSubstr("--journal FILE begins another")));
  std::vector<std::string> resumed = words;
  resumed.push_back("--resume");
  const CommandResult whole = Sweep(resumed);
  EXPECT_EQ(whole.exit_code, 0);
  EXPECT_THAT(whole.err, HasSubstr("nothing is left to run"));
  fs::resize_file(file, ContentOf(file).size() - 30);
  EXPECT_THAT(Sweep(words).err, HasSubstr("already holds 1 of 2 points of this sweep; --resume runs what is left"));
}

TEST(SweepJournal, ThatIsNoRegularFileIsRefusedBeforeAPoint) {
  for (const char* device : {"/dev/null", "/dev/zero"}) {
    const CommandResult result = Sweep(
        Waiting({"--engine", "predict", "--axis", "workers=1,2", "--journal", device, "--resume"}));
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, HasSubstr(std::string(device) + ": not a regular file"));
    EXPECT_EQ(result.out, "");
  }
}

TEST(SweepShards, MergeToTheWholeSweep) {
  const std::string file = Journal("shards");
  const auto words = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all =
        Waiting({"--engine", "predict", "--axis", "workers=0:6:1", "--export", "json=-"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string whole = Sweep(words({})).out;
  const CommandResult first = Sweep(words({"--journal", file, "--shard", "1/3"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(ordered_json::parse(first.out)["points"].size(), 3u);
  const CommandResult incomplete = Sweep(words({"--journal", file, "--merge"}));
  EXPECT_EQ(incomplete.exit_code, 4);
  EXPECT_THAT(incomplete.err, HasSubstr("shard 2 of 3 is missing"));
  // As a Slurm array would: tasks 10, 20, 30.
  for (const char* id : {"20", "30"}) {
    const CommandResult task =
        Sweep(words({"--journal", file}),
              {.environment = {"SLURM_ARRAY_TASK_ID=" + std::string(id), "SLURM_ARRAY_TASK_COUNT=3",
                               "SLURM_ARRAY_TASK_MIN=10", "SLURM_ARRAY_TASK_STEP=10"}});
    ASSERT_EQ(task.exit_code, 0) << task.err;
    EXPECT_THAT(task.err, HasSubstr("from SLURM_ARRAY_TASK_ID"));
  }
  const CommandResult merged = Sweep(words({"--journal", file, "--merge"}));
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(WithoutContext(merged.out), WithoutContext(whole));
  // Its points are merged already, so it is not missed.
  fs::remove(TestFolder() / "shards.2-of-3.jsonl");
  const CommandResult again = Sweep(words({"--journal", file, "--merge"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(WithoutContext(again.out), WithoutContext(whole));
}

TEST(SweepShards, AnOlderJournalOfAnotherSweepGivesWayToTheMerge) {
  const std::string file = Journal("older");
  const auto sweep = [&](const std::string& workers, const std::vector<std::string>& more) {
    std::vector<std::string> words = Waiting({"--engine", "predict", "--axis", "workers=" + workers,
                                              "--journal", file});
    words.insert(words.end(), more.begin(), more.end());
    return Sweep(words);
  };
  const CommandResult none = sweep("1,2", {"--merge"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("no shard is there to merge"));
  EXPECT_FALSE(fs::exists(file));
  ASSERT_EQ(sweep("1,4", {}).exit_code, 0);
  for (const char* shard : {"1/2", "2/2"}) {
    fs::remove(TestFolder() / ("older." + std::string(1, *shard) + "-of-2.jsonl"));
    ASSERT_EQ(sweep("1,2", {"--shard", shard}).exit_code, 0);
  }
  const CommandResult refused = sweep("1,2", {"--merge"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("older.jsonl is of another sweep"),
                                 HasSubstr("remove it or move it away, and --merge begins it")));
  fs::remove(file);
  EXPECT_EQ(sweep("1,2", {"--merge"}).exit_code, 0);
}

TEST(SweepFailures, AnImpossiblePointFailsAloneWithItsReason) {
  const CommandResult result =
      Sweep(Waiting({"--engine", "predict", "--axis", "batch=16,1000000000", "--set",
                     "dataset.samples=1000000000", "--workers", "2"}));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, AllOf(HasSubstr("1 ok, 1 failed"), HasSubstr("1000000000  oom  ")));
}

TEST(SweepFailures, APointWithoutAMeasuredStepSaysSo) {
  // A batch of 16 takes 160 s, longer than the prediction lasts.
  const CommandResult result = Sweep({"--engine", "predict", "--batch", "16", "--storage", "none", "--workers", "1",
                                      "--duration", "500ms", "--set", "prepare.kind=wait", "--axis",
                                      "prepare.cost=1ms,10s", "--export", "json=-"});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  const auto point = ordered_json::parse(result.out)["points"][1]["predicted"];
  EXPECT_EQ(point["status"], "failed");
  EXPECT_THAT(point["reason"], HasSubstr("nothing was measured: no step was finished in 60"));
  const std::string reason = point["reason"];
  EXPECT_FALSE(reason.ends_with('.'));
  const std::string csv = (TestFolder() / "points.csv").string(), html = (TestFolder() / "points.html").string();
  RunPipesim({"report", "last", "--export", "csv=" + csv, "--export", "html=" + html});
  EXPECT_THAT(RunPipesim({"report", "last"}).out, HasSubstr("failed  nothing was measured: no"));
  for (const std::string& text : {ContentOf(csv), ContentOf(html)})
    EXPECT_THAT(text, HasSubstr("nothing was measured: no step was finished"));
}

TEST(SweepFailures, InvalidPointsAreReportedTogetherBeforeAnythingRuns) {
  const CommandResult result =
      Sweep(Waiting({"--axis", "workers=1,two", "--axis", "prefetch=0,2", "--engine", "predict"}));
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--axis workers=1,two\n                 ^~~"),
                                HasSubstr("at workers 1, prefetch 0")));
}

void ExpectUsage(const CommandResult& result, const std::string& text) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(text));
}

TEST(SweepErrors, NameTheFlagAndWhatItTakes) {
  ExpectUsage(Sweep(Waiting({})), "a sweep needs an axis: --axis workers=0,1,2,4");
  ExpectUsage(Sweep(Waiting({"--axis", "workers=1", "--engine", "fast"})),
              "--engine takes run, predict or both");
  ExpectUsage(Sweep(Waiting({"--axis", "workers=1", "--shard", "5/4"})), "--shard takes I/N");
  ExpectUsage(Sweep(Waiting({"--axis", "workers=1", "--merge", "--resume"})), "--merge puts");
  ExpectUsage(Sweep(Waiting({"--axis", "workers=1", "--from", "last"})),
              "only --engine predict can use");
  ExpectUsage(Sweep(Waiting({"--axis", "workers=1", "--precision", "1%"})),
              "--precision ends predictions");
  for (const char* share : {"0", "100%", "fine"})
    ExpectUsage(Sweep(Waiting({"--axis", "workers=1", "--engine", "predict", "--precision", share})),
                "--precision takes a share such as 0.5%");
  const CommandResult key = Sweep(Waiting({"--axis", "wrkers=1"}));
  EXPECT_EQ(key.exit_code, 3);
  EXPECT_THAT(key.err, AllOf(HasSubstr("unknown key 'wrkers'"), HasSubstr("suggestion: workers")));
}

TEST(SweepErrors, LibTorchIsNeededWhereAnyPointTrainsForReal) {
  const auto needs = [](const std::string& devices, const std::string& engine) {
    return Sweep({"--axis", "device=" + devices, "--engine", engine, "--needs-libtorch"}).out;
  };
  EXPECT_EQ(needs("emulated,cpu", "run"), "yes\n");
  EXPECT_EQ(needs("emulated,rtx-4060", "both"), "no\n");
  EXPECT_EQ(needs("emulated,cpu", "predict"), "no\n");
}

TEST(SweepErrors, DryRunShowsTheOrderAndRunsNothing) {
  const CommandResult result =
      Sweep({kShipped, "--dry-run", "--shard", "2/4", "--repeats", "3", "--cpus", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("4 of 15 points, 3 repeats each, engine run, seed 1"),
                                HasSubstr("workers_by_batch.sweep.2-of-4.jsonl"),
                                HasSubstr("\n   4  workers ")));
  EXPECT_FALSE(fs::exists(TestFolder() / "workers_by_batch.sweep.2-of-4.jsonl"));
}

TEST(SweepErrors, DryRunOfAResumedSweepShowsThePointsThatAreLeft) {
  const std::string file = Journal("left");
  const auto sweep = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words =
        Waiting({"--engine", "predict", "--axis", "workers=1,2,4", "--journal", file});
    words.insert(words.end(), more.begin(), more.end());
    return Sweep(words).out;
  };
  const auto left = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const std::string all = sweep({"--resume", "--dry-run"});
  EXPECT_EQ(left(all), 2 + 3) << all;
  EXPECT_FALSE(fs::exists(file));
  sweep({});
  fs::resize_file(file, ContentOf(file).size() - 30);
  const std::string before = ContentOf(file), rest = sweep({"--resume", "--dry-run"});
  EXPECT_THAT(rest, AllOf(HasSubstr("3 of 3 points"), HasSubstr("2 done, 1 left to run\n   1  workers ")));
  EXPECT_EQ(left(rest), 3 + 1) << rest;
  EXPECT_EQ(ContentOf(file), before);
}

}  // namespace
}  // namespace pipesim
