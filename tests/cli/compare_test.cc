// `pipesim compare`: predictions, runs, sweeps, runs in turn, gates, Ctrl-C, errors.
// PIPESIM_UPDATE_GOLDEN=1 rewrites the golden texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/golden.h"
#include "support/schema.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::ordered_json;
using support::CommandOptions;
using support::CommandResult;
using support::ContentOf;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Workers wait a time for each sample and hold no core; 16 samples a batch, of which a step takes
// 8 ms: at 1 ms a sample the loader makes a batch in 16 ms / workers.
const std::string kExperiment =
    "version: 1\n"
    "storage: none\n"
    "prepare: {kind: wait, cost: 1ms}\n"
    "loader: {workers: 1, batch_size: 16}\n"
    "model: mlp\n"
    "device: {emulated: {base: 8ms}}\n";

std::string Written(const std::string& name, const std::string& text) {
  std::ofstream(TestFolder() / name) << text;
  return name;
}

std::string Experiment(const std::string& name, const std::string& cost = "1ms") {
  std::string text = kExperiment;
  return Written(name, text.replace(text.find("1ms"), 3, cost));
}

CommandResult InFolder(std::vector<std::string> words, CommandOptions options = {}) {
  options.folder = TestFolder();
  return RunPipesim(words, options);
}

CommandResult Compare(std::vector<std::string> words, CommandOptions options = {}) {
  words.insert(words.begin(), "compare");
  return InFolder(std::move(words), std::move(options));
}

/// The report of `command` on the experiment, in `file`.
std::string Report(const std::string& file, const std::string& command,
                   std::vector<std::string> words) {
  Experiment("experiment.yaml");
  words.insert(words.begin(),
               {command, "experiment.yaml", "--quiet", "--no-save", "--export", "json=" + file});
  if (command == "predict") std::erase(words, "--quiet");
  const CommandResult result = InFolder(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return file;
}

std::string PredictedReport(const std::string& file, std::vector<std::string> words = {}) {
  return Report(file, "predict", std::move(words));
}

std::string PredictedSweep(const std::string& file, std::vector<std::string> words) {
  words.insert(words.end(), {"--engine", "predict"});
  return Report(file, "sweep", std::move(words));
}

ordered_json DocumentOf(const CommandResult& result) {
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "compare"));
  return document;
}

TEST(Compare, SaysWhatMovedAndWhatHadBeenPromised) {
  const std::string a = PredictedReport("a.json"),
                    b = PredictedReport("b.json", {"--workers", "2"});
  const auto document = DocumentOf(Compare({a, b, "--export", "json=-"}));
  EXPECT_EQ(document["overall"]["call"], "FASTER");
  const auto& point = document["comparisons"][0]["points"][0];
  // One worker makes a batch in 16 ms, two in 8, as long as a step takes.
  EXPECT_NEAR(point["change"].get<double>(), 1.0, 0.01);
  EXPECT_TRUE(point["exact"].get<bool>());
  EXPECT_TRUE(point["verdict_changed"].get<bool>());
  double total = 0;
  for (const auto& stage : point["where"]["stages"]) total += stage["difference_s"].get<double>();
  EXPECT_NEAR(total,
              point["b"]["step_time_s"].get<double>() - point["a"]["step_time_s"].get<double>(),
              1e-5);
  EXPECT_EQ(document["comparisons"][0]["changed"][0]["key"], "loader.workers");
  ASSERT_FALSE(point["promised"].is_null());
  EXPECT_NEAR(point["promised"]["error"].get<double>(), 0, 0.01);
}

TEST(Compare, PrintsAnAnswerForAPairAndForSweeps) {
  const std::string a = PredictedReport("before.json"),
                    b = PredictedReport("after.json", {"--workers", "2"});
  const std::string main = PredictedSweep("main.json", {"--axis", "workers=1,2,4"});
  const std::string branch =
      PredictedSweep("branch.json", {"--axis", "workers=1,2,8", "--set", "prepare.cost=1200us"});
  for (const auto& [golden, words] :
       {std::pair{"compare_pair.txt", std::vector{a, b}},
        std::pair{"compare_sweeps.txt", std::vector{main, branch}}}) {
    const CommandResult result = Compare(words, {.environment = {"LC_ALL=C.UTF-8"}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    support::ExpectGolden(golden, result.out);
  }
}

TEST(Compare, CallsEqualPredictionsTheSameAndOthersExactly) {
  const std::string a = PredictedReport("a.json"), same = PredictedReport("same.json");
  EXPECT_THAT(Compare({a, same}).out, StartsWith("SAME: A and B are predicted at the same rate"));
  const std::string slower = PredictedReport("slower.json", {"--set", "prepare.cost=1001us"});
  EXPECT_THAT(Compare({a, slower}).out, StartsWith("SLOWER: B is predicted to do 0.1 % fewer"));
}

TEST(Compare, MatchesPointsOfSweepsAndNamesTheOthers) {
  const std::string a = PredictedSweep("a.json", {"--axis", "workers=1,2"});
  const std::string b =
      PredictedSweep("b.json", {"--axis", "workers=2,4", "--axis", "batch=16,32"});
  const auto document = DocumentOf(Compare({a, b, "--export", "json=-"}));
  const auto& comparison = document["comparisons"][0];
  ASSERT_EQ(comparison["points"].size(), 1u);
  EXPECT_EQ(comparison["points"][0]["name"], "workers 2");
  EXPECT_EQ(comparison["points"][0]["call"], "SAME");
  EXPECT_EQ(comparison["only_a"].size(), 1u);
  EXPECT_EQ(comparison["only_b"].size(), 3u);
}

TEST(Compare, TakesARunAgainstThePointOfASweep) {
  const std::string sweep = PredictedSweep("sweep.json", {"--axis", "workers=1,2"});
  const std::string run = PredictedReport("run.json", {"--workers", "2"});
  const auto document = DocumentOf(Compare({sweep, run, "--export", "json=-"}));
  EXPECT_EQ(document["comparisons"][0]["points"][0]["name"], "workers 2");
  EXPECT_EQ(document["overall"]["call"], "SAME");
}

TEST(Compare, TakesTheJournalOfASweepAsItsReport) {
  fs::remove(TestFolder() / "swept.jsonl");
  const std::string report = PredictedSweep(
      "swept.json", {"--axis", "workers=1,2", "--axis", "prefetch=2,4", "--journal", "swept.jsonl"});
  const auto document = DocumentOf(Compare({report, "swept.jsonl", "--export", "json=-"}));
  EXPECT_EQ(document["comparisons"][0]["points"].size(), 4u);
  EXPECT_EQ(document["overall"]["call"], "SAME");
  Written("notes.jsonl", "{\"title\": \"shopping\"}\n{}\n");
  const CommandResult notes = Compare({report, "notes.jsonl"});
  EXPECT_EQ(notes.exit_code, 3);
  EXPECT_THAT(notes.err, HasSubstr("journal notes.jsonl: line 1 is damaged"));
}

TEST(Compare, ComparesEachReportWithTheFirst) {
  const CommandResult result =
      Compare({PredictedReport("a.json"), PredictedReport("b.json", {"--workers", "2"}),
               PredictedReport("c.json", {"--batch", "8"})});
  EXPECT_THAT(result.out, AllOf(HasSubstr("B against A"), HasSubstr("C against A"),
                                HasSubstr("Different batch sizes")));
}

TEST(Compare, GatesByRegressionExpectationAndRequirement) {
  const std::string fast = PredictedReport("fast.json", {"--workers", "2"}),
                    slow = PredictedReport("slow.json");
  const auto code = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {fast, slow});
    return Compare(words).exit_code;
  };
  EXPECT_EQ(code({}), 0);
  EXPECT_EQ(code({"--fail-on-regression", "5%"}), 5);
  EXPECT_EQ(code({"--fail-on-regression", "60%"}), 0);
  EXPECT_EQ(code({"--expect", "slower"}), 0);
  EXPECT_EQ(code({"--expect", "Faster"}), 5);
  EXPECT_EQ(code({"--expect", "loader-bound"}), 0);
  EXPECT_EQ(code({"--expect", "compute-bound"}), 5);
  EXPECT_EQ(code({"--require", "samples_per_s>=900"}), 0);
  EXPECT_EQ(code({"--require", "au>=0.9"}), 5);
}

/// A predicted sweep over numbers of workers, in `file`.
std::string WorkersSweep(const std::string& file, const std::string& workers,
                         const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--axis", "workers=" + workers};
  words.insert(words.end(), more.begin(), more.end());
  return PredictedSweep(file, words);
}

TEST(Compare, ASweepOverPresetsOrMapsHasARunOfOneOfThem) {
  struct Case {
    std::string name, axis, flag, value;
  };
  const Case cases[] = {{"device", "device=rtx-4060,a100", "--device", "rtx-4060"},
                        {"prepare", "prepare=1ms,2ms", "--prepare", "2ms"},
                        {"maps", "prepare={kind: wait, cost: 3ms},none", "--prepare", "none"}};
  for (const Case& each : cases) {
    const std::string sweep = PredictedSweep(each.name + "-sweep.json", {"--steps", "100", "--axis", each.axis});
    const std::string run = PredictedReport(each.name + "-run.json", {"--steps", "100", each.flag, each.value});
    const CommandResult result = Compare({sweep, run});
    EXPECT_EQ(result.exit_code, 0) << each.name << result.err;
    EXPECT_THAT(result.out, StartsWith("SAME")) << each.name;
  }
}

TEST(Compare, ASweepOverModelsHasTheDataOfEach) {
  const std::vector<std::string> common = {"--steps", "100", "--batch", "64", "--device", "a100"};
  std::vector<std::string> models = common, large = common;
  models.insert(models.end(), {"--axis", "model=mlp,resnet18"});
  large.insert(large.end(), {"--model", "resnet18"});
  std::vector<std::string> words = {"sweep", "--engine", "predict", "--export", "json=models.json"};
  words.insert(words.end(), models.begin(), models.end());
  ASSERT_EQ(RunPipesim(words, {.folder = TestFolder()}).exit_code, 0);
  words = {"predict", "--export", "json=large.json"};
  words.insert(words.end(), large.begin(), large.end());
  ASSERT_EQ(RunPipesim(words, {.folder = TestFolder()}).exit_code, 0);
  const CommandResult result = Compare({"large.json", "models.json"});
  EXPECT_THAT(result.out, AllOf(StartsWith("SAME"), Not(HasSubstr("Different"))));
}

TEST(CompareGate, APointOfAThatBDoesNotHoldIsNotDecided) {
  for (const char* journal : {"gate.1-of-2.jsonl", "cut.jsonl"}) fs::remove(TestFolder() / journal);
  const std::string a = WorkersSweep("a.json", "1,2,4,8"), fewer = WorkersSweep("few.json", "1,2,4"),
                    shard = WorkersSweep("s.json", "1,2,4,8",
                                         {"--shard", "1/2", "--journal", "gate.jsonl"});
  const auto gate = [&](const std::string& b) {
    return Compare({a, b, "--fail-on-regression", "5%", "--brief"});
  };
  EXPECT_EQ(gate(fewer).exit_code, 6);
  EXPECT_THAT(gate(fewer).err, HasSubstr("1 of 4 points of A is not in B: not decided"));
  EXPECT_THAT(gate(fewer).out, HasSubstr("0 of 3 points lost more than 5 %, 1 more not measured"));
  EXPECT_EQ(Compare({a, fewer, "--expect", "same"}).exit_code, 6);
  EXPECT_EQ(gate(shard).exit_code, 6);
  EXPECT_THAT(gate(shard).err,
              HasSubstr("2 of 4 points of A are not in B, which is shard 1 of 2: not decided"));
  WorkersSweep("whole.json", "1,2,4,8", {"--journal", "cut.jsonl"});
  EXPECT_EQ(gate("cut.jsonl").exit_code, 0);
  fs::resize_file(TestFolder() / "cut.jsonl", ContentOf(TestFolder() / "cut.jsonl").size() - 30);
  EXPECT_EQ(gate("cut.jsonl").exit_code, 6);
  EXPECT_THAT(gate("cut.jsonl").err, HasSubstr("1 of 4 points of A is not in B, which was interrupted"));
  const std::string slower = WorkersSweep("slow.json", "1,2,4", {"--set", "prepare.cost=2ms"});
  EXPECT_EQ(gate(slower).exit_code, 5);
}

TEST(CompareGate, PointsThatAllFailNowAreRegressions) {
  const std::string a = WorkersSweep("a.json", "1,2");
  ordered_json document = ordered_json::parse(ContentOf(TestFolder() / a));
  for (auto& point : document["points"]) {
    point["predicted"]["status"] = "failed";
    point["predicted"]["samples_per_s"] = nullptr;
  }
  Written("failed.json", document.dump());
  const CommandResult result = Compare({a, "failed.json", "--fail-on-regression", "5%"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 of 2 points lost more than 5 %"));
  const CommandResult reversed = Compare({"failed.json", a, "--fail-on-regression", "5%"});
  EXPECT_EQ(reversed.exit_code, 3);
  EXPECT_THAT(reversed.err, HasSubstr("failed.json: no point of this sweep has a rate"));
}

TEST(Compare, IsKeptAndShownAgain) {
  const std::string a = PredictedReport("a.json"),
                    b = PredictedReport("b.json", {"--workers", "2"});
  const CommandResult first = Compare({a, b, "--export", "json=compared.json"});
  EXPECT_EQ(InFolder({"report", "compared.json"}).out, first.out);
  EXPECT_EQ(InFolder({"report", "last"}).out, first.out);
  EXPECT_THAT(InFolder({"report", "last", "--brief"}).out, Not(HasSubstr("verdict  ")));
}

TEST(CompareErrors, SayWhatIsWrongWhereAndWhatToDo) {
  const std::string a = PredictedReport("a.json"),
                    b = PredictedReport("b.json", {"--workers", "2"});
  fs::remove(TestFolder() / "link.json");
  fs::create_symlink(TestFolder() / a, TestFolder() / "link.json");
  Written("broken.json", ContentOf(TestFolder() / a).substr(0, 1000));
  Written("notes.json", "{\"title\": \"shopping\"}");
  ordered_json old = ordered_json::parse(ContentOf(TestFolder() / a));
  old["result"].erase("accelerators");
  Written("older.json", old.dump());
  ordered_json cut = ordered_json::parse(ContentOf(TestFolder() / a));
  cut["result"]["status"] = "interrupted";
  Written("cut.json", cut.dump());
  Experiment("experiment.yaml");
  struct Case {
    std::vector<std::string> words;
    int code;
    std::string says;
  };
  const Case cases[] = {
      {{a}, 2, "two or more reports"},
      {{a, a}, 2, "same file"},
      {{a, "link.json"}, 2, "same file"},
      {{a, "nowhere.json"}, 3, "nowhere.json: No such file"},
      {{a, "broken.json"}, 3, "broken.json: not JSON"},
      {{a, "notes.json"}, 3, "notes.json: not a report of pipesim"},
      {{a, "older.json"}, 3, "older.json: edited, or written by another version of pipesim"},
      {{a, "cut.json"}, 3, "cut.json: the run did not finish (interrupted)"},
      {{a, "sweep.jsonl"}, 3, "journal sweep.jsonl: cannot be read"},
      {{"experiment.yaml", "other.yaml"}, 2, "--interleave runs it"},
      {{"experiment.yaml", a, "--interleave"}, 2, "cannot be mixed"},
      {{a, b, "--workers", "2"}, 2, "--workers changes what runs"},
      {{a, b, "--interleave"}, 2, "a.json' is a prediction"},
      {{a, b, "--rerun", "all"}, 2, "--rerun takes `unsure`"},
      {{a, b, "--repeats", "1", "--interleave"}, 2, "--repeats takes"},
      {{a, b, "--fail-on-regression", "5"}, 2, "did you mean 5%?"},
      {{a, b, "--expect", "quicker"}, 2, "faster, slower and same"},
      {{a, b, "--interleaf"}, 2, "did you mean --interleave?"},
  };
  for (const Case& each : cases) {
    const CommandResult result = Compare(each.words);
    EXPECT_EQ(result.exit_code, each.code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(each.says));
    EXPECT_EQ(result.out, "");
  }
}

TEST(CompareErrors, NameTheKeysWhereNoConfigurationIsCommon) {
  const std::string a = PredictedSweep("a.json", {"--axis", "workers=1,2"});
  const std::string b = PredictedSweep("b.json", {"--axis", "workers=4,8"});
  const CommandResult result = Compare({a, b});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no configuration in common"),
                                HasSubstr("loader.workers: 1, 2 there, 4, 8 here")));
}

TEST(CompareErrors, OfAnExperimentAreShownBeforeAnythingRuns) {
  Experiment("good.yaml");
  Written("bad.yaml", "version: 1\nloader: {wrokers: 2}\n");
  const CommandResult result = Compare({"good.yaml", "bad.yaml", "--interleave"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("bad.yaml:2:"), HasSubstr("workers"), Not(HasSubstr("run 1"))));
}

TEST(MeasuredComparison, RunsExperimentsInTurnAndFindsTheSlowerOne) {
  // 16 ms and 24 ms a batch: a third fewer.
  const CommandResult result =
      Compare({Experiment("a.yaml"), Experiment("b.yaml", "1500us"), "--interleave", "--duration",
               "300ms", "--export", "json=-", "--fail-on-regression", "10%"});
  EXPECT_EQ(result.exit_code, 5) << result.err;
  const auto document = DocumentOf(result);
  EXPECT_EQ(document["overall"]["call"], "SLOWER");
  EXPECT_EQ(document["interleaved"]["rounds_done"], 5);
  const auto& point = document["comparisons"][0]["points"][0];
  EXPECT_EQ(point["a"]["unit"], "repeats");
  EXPECT_EQ(point["a"]["count"], 5);
  EXPECT_NEAR(point["change"].get<double>(), -1.0 / 3, 0.1);
  // Whoever begins changes.
  EXPECT_THAT(result.err, AllOf(HasSubstr("run 2 of 10: B"), HasSubstr("run 3 of 10: B"),
                                HasSubstr("run 4 of 10: A"), HasSubstr("run 5 of 10: A")));
}

TEST(MeasuredComparison, RunsReportsAgainWhereTheyAreUnsure) {
  // Two blocks at most in a short run decide nothing about equal rates.
  const std::string a = Report("a.json", "run", {"--steps", "4", "--set", "run.warmup=0"});
  const std::string b = Report("b.json", "run", {"--steps", "4", "--set", "run.warmup=0"});
  const CommandResult open = Compare({a, b, "--fail-on-regression", "5%"});
  EXPECT_THAT(open.out, AllOf(StartsWith("UNSURE"), HasSubstr("--rerun unsure")));
  // SAME takes five runs a side, so four would settle nothing.
  EXPECT_THAT(Compare({a, b, "--rerun", "unsure", "--repeats", "2", "--quiet"}).out,
              HasSubstr("--rerun unsure --repeats 5"));
  EXPECT_EQ(open.exit_code, 6);
  const auto document =
      DocumentOf(Compare({a, b, "--rerun", "unsure", "--repeats", "5", "--duration", "300ms",
                          "--steps", "none", "--quiet", "--export", "json=-"}));
  EXPECT_EQ(document["comparisons"][0]["points"][0]["a"]["unit"], "repeats");
  EXPECT_EQ(document["interleaved"]["rounds_done"], 5);
}

TEST(CompareReal, ReportsWhatIsThereAfterCtrlC) {
  const std::string a = Experiment("a.yaml"), b = Experiment("b.yaml", "1500us");
  CommandOptions options;
  options.while_running = [](int pid) {
    int run = 0;
    for (int runs = 0; runs < 3; ++runs) run = support::RunProcessOf(pid, run);
    support::UntilItHandles(run, SIGTERM);
    kill(pid, SIGINT);
  };
  const CommandResult result = Compare(
      {a, b, "--interleave", "--duration", "500ms", "--quiet", "--export", "json=-"}, options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const auto document = DocumentOf(result);
  EXPECT_TRUE(document["interrupted"].get<bool>());
  EXPECT_EQ(document["interleaved"]["rounds_done"], 1);
}

}  // namespace
}  // namespace pipesim
