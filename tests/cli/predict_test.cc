// `pipesim predict`: every shipped experiment, reports and errors. PIPESIM_UPDATE_GOLDEN=1 rewrites
// the golden text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/command.h"
#include "support/golden.h"
#include "support/schema.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using support::CommandOptions;
using support::CommandResult;
using support::ExpectGolden;
using support::RunPipesim;
using support::TestFolder;
using testing::HasSubstr;
using testing::Not;

const fs::path kExperiments = PIPESIM_SOURCE_DIR "/configs/experiments";

CommandResult Predict(std::vector<std::string> words, const CommandOptions& options = {}) {
  words.insert(words.begin(), "predict");
  return RunPipesim(words, options);
}

struct Predicted {
  CommandResult result;
  ordered_json report;
};
Predicted PredictAsJson(std::vector<std::string> words) {
  words.insert(words.end(), {"--export", "json=-"});
  Predicted predicted{Predict(std::move(words)), {}};
  if (!predicted.result.out.empty()) predicted.report = ordered_json::parse(predicted.result.out);
  return predicted;
}

std::string WithoutContext(ordered_json report) {
  report.erase("context");
  return report.dump(2);
}

TEST(Predict, EveryShippedExperimentIsDeterministicAndFitsTheSchema) {
  int count = 0;
  for (const auto& file : fs::directory_iterator(kExperiments)) {
    const auto begin = std::chrono::steady_clock::now();
    const Predicted once = PredictAsJson({file.path().string()});
    // 10 ms each on two cores; the bound only tells seconds from virtual minutes.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << file.path();
    ASSERT_EQ(once.result.exit_code, 0) << file.path() << once.result.err;
    EXPECT_TRUE(tests::FitsSchema(once.report)) << file.path();
    EXPECT_EQ(once.report["reality"]["engine"], "predicted") << file.path();
    EXPECT_EQ(once.report["prediction"]["profile"], "default") << file.path();
    const Predicted twice = PredictAsJson({file.path().string()});
    EXPECT_EQ(WithoutContext(once.report), WithoutContext(twice.report)) << file.path();
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(Predict, FindsTheIntendedBottleneckOfEachExperiment) {
  for (const char* verdict :
       {"io-bound", "cpu-bound", "loader-bound", "compute-bound", "inconclusive"}) {
    const std::string file = (kExperiments / (std::string(verdict) + ".yaml")).string();
    EXPECT_EQ(Predict({file, "--expect", verdict, "--quiet"}).exit_code, 0) << verdict;
  }
  const std::string eight = (kExperiments / "eight-accelerators.yaml").string();
  EXPECT_EQ(Predict({eight, "--expect", "io-bound", "--quiet"}).exit_code, 0);
}

std::string TextOf(const std::string& experiment) {
  return Predict({"configs/experiments/" + experiment},
                 {.folder = PIPESIM_SOURCE_DIR, .environment = {"LC_ALL=C.UTF-8"}})
      .out;
}

TEST(Predict, ItsTextIsAsRecorded) { ExpectGolden("predicted.txt", TextOf("cpu-bound.yaml")); }

/// A scenario of each verdict that a prediction reaches by its construction.
TEST(Predict, TheTextOfEachVerdictIsAsRecorded) {
  for (const std::string name :
       {"no-workers", "threads-times-workers", "disk-full", "all-cores-full", "pageable-copies",
        "small-model", "gpu-full", "nothing-alone-helps"}) {
    const CommandResult result =
        Predict({"configs/scenarios/" + name + ".yaml", "--cpus", "2", "--quiet"},
                {.folder = PIPESIM_SOURCE_DIR, .environment = {"LC_ALL=C.UTF-8"}});
    EXPECT_EQ(result.exit_code, 0) << name << result.err;
    ExpectGolden("verdict." + name + ".txt", result.out);
  }
}

/// The training loop's own work and its reading back limit only where a machine profile says what they
/// cost.
TEST(Predict, TheTextOfATrainingLoopThatLimitsIsAsRecorded) {
  const fs::path data = TestFolder() / "data";
  fs::create_directories(data / "models");  // what makes it a data folder
  fs::create_directories(data / "configs/machines");
  std::ofstream(data / "configs/machines/slow-loop.yaml")
      << "version: 1\nsource: stated by a test\ncontext: {cores: 4}\n"
         "figures: {host_step: {value: 100us, how: stated}, memory: {value: 16GB, how: stated}}\n"
         "steps:\n"
         "  - {model: linear, shape: [1, 28, 28], device: cpu, threads: 1, batch: 64, time: 50us, how: m}\n";
  const std::vector<std::string> common = {
      "--workers", "2", "--cpus", "4", "--storage", "none", "--prepare", "none", "--quiet",
      "--profile", "slow-loop", "--set",
      "dataset={samples: 65536, sample_bytes: 784B, shape: [1, 28, 28], dtype: float32, classes: 10}"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"host-bound", {"--model", "linear", "--batch", "64", "--device", "cpu", "--threads", "1"}},
      {"sync-bound",
       {"--model", "mlp", "--batch", "512", "--device", "rtx-4060", "--set", "model.sync_every=1",
        "--set", "model.cuda_graph=true", "--set", "loader.pin_memory=true", "--set",
        "transfer.non_blocking=false"}}};
  for (auto [verdict, words] : cases) {
    words.insert(words.end(), common.begin(), common.end());
    words.insert(words.end(), {"--expect", verdict});
    const CommandResult result = Predict(
        words, {.environment = {"LC_ALL=C.UTF-8", "PIPESIM_DATA_DIR=" + data.string()}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ExpectGolden("verdict." + verdict + ".txt", result.out);
  }
}

/// Rounds every number to 6 digits and tiny differences to 0: the rest depends on the compiler.
void Round(ordered_json& value) {
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    std::ostringstream digits;
    digits << (std::abs(number) < 1e-9 ? 0 : number);
    value = std::stod(digits.str());
  }
  if (value.is_structured()) {
    for (auto& part : value) Round(part);
  }
}

TEST(PredictAccelerators, TheTextAndTheDocumentOfEightAreAsRecorded) {
  ExpectGolden("predicted_accelerators.txt", TextOf("eight-accelerators.yaml"));
  Predicted predicted = PredictAsJson({(kExperiments / "eight-accelerators.yaml").string()});
  ASSERT_FALSE(predicted.report.is_null()) << predicted.result.err;
  for (const char* part : {"pipesim", "context", "samples"}) predicted.report.erase(part);
  predicted.report["diagnosis"]["recommendation"].erase("argv");  // paths of this machine
  Round(predicted.report);
  ExpectGolden("predicted_accelerators.json", predicted.report.dump(2) + "\n");
}

TEST(PredictAccelerators, FlagsAndKeysSetTheirNumber) {
  const std::string file = (kExperiments / "eight-accelerators.yaml").string();
  const auto rate = [](const Predicted& predicted) {
    return predicted.report["result"]["samples_per_s"].get<double>();
  };
  const Predicted one = PredictAsJson({file, "--accelerators", "1"});
  const Predicted two = PredictAsJson({file, "--set", "run.accelerators=2"});
  ASSERT_EQ(one.result.exit_code, 0) << one.result.err;
  EXPECT_EQ(one.report["result"]["accelerators"], 1);
  EXPECT_EQ(two.report["experiment"]["run.accelerators"]["origin"], "flag");
  // One needs 205 of 550 MB/s, two 410: the disk suffices.
  EXPECT_NEAR(rate(two) / rate(one), 2, 0.01);
  EXPECT_EQ(rate(one), one.report["result"]["samples_per_s_each"].get<double>());
}

TEST(Predict, PrepareOnTheCommandLineTakesAMapToo) {
  const auto cost = [](const Predicted& predicted) { return predicted.report["experiment"]["prepare.kind"]["value"]; };
  EXPECT_EQ(cost(PredictAsJson({"--prepare", "{kind: wait, cost: 1ms}", "--steps", "50"})), "wait");
  EXPECT_EQ(cost(PredictAsJson({"--prepare", "1ms", "--steps", "50"})), "burn");
}

TEST(Predict, TheExamplesInItsHelpRun) {
  const fs::path folder = TestFolder() / "examples";
  fs::create_directories(folder);
  fs::create_directory_symlink(PIPESIM_SOURCE_DIR "/configs", folder / "configs");
  ASSERT_EQ(Predict({(kExperiments / "io-bound.yaml").string(), "--export",
                     "json=" + (folder / "before.json").string()})
                .exit_code,
            0);
  std::istringstream help(Predict({"--help"}).out);
  int examples = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  pipesim predict ")) continue;
    std::istringstream words(line.substr(std::string("  pipesim predict ").size()));
    const std::vector<std::string> arguments{std::istream_iterator<std::string>(words), {}};
    const CommandResult result = Predict(arguments, {.folder = folder});
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    ++examples;
  }
  EXPECT_GE(examples, 3);
}

TEST(Predict, NeverOpensLibTorchOrCuda) {
  // The dynamic loader logs every file it opens, including dlopen.
  const CommandResult result = Predict({"--device", "cpu", "--workers", "2", "--set", "run.steps=50"},
                                       {.environment = {"LD_DEBUG=files"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("libstdc++"));
  EXPECT_THAT(result.err, Not(HasSubstr("libpipesim_torch")));
  EXPECT_THAT(result.err, Not(HasSubstr("libtorch")));
  EXPECT_THAT(result.err, Not(HasSubstr("libcuda")));
  EXPECT_EQ(Predict({"--device", "cpu", "--needs-libtorch"}).out, "no\n");
}

TEST(Predict, AFreeStepIsKnown) {
  for (const char* workers : {"0", "2"}) {
    const Predicted predicted =
        PredictAsJson({"--model", "mlp", "--workers", workers, "--cpus", "2", "--prepare", "100us",
                       "--set", "device.emulated.base=0"});
    EXPECT_EQ(predicted.report["demands"]["step_s"], 0);
    EXPECT_NE(predicted.report["diagnosis"]["bottleneck"], "inconclusive");
  }
}

TEST(Predict, AGpuWithoutACostSaysWhatToDo) {
  const CommandResult result = Predict({"--device", "cuda:0"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("a step of mlp on cuda:0 has no cost"));
  EXPECT_THAT(result.err, HasSubstr("--device rtx-4060"));
}

TEST(Predict, AutoWithoutAGpuInTheProfileIsTheCpu) {
  const Predicted predicted = PredictAsJson({"--model", "mlp", "--workers", "2"});
  EXPECT_EQ(predicted.result.exit_code, 0) << predicted.result.err;
  EXPECT_EQ(predicted.report["effective"]["device"], "cpu");
  EXPECT_EQ(predicted.report["effective"]["device_requested"], "auto");
}

TEST(Predict, TooLittleDeviceMemoryGivesAReportAndExitCodeFour) {
  const Predicted predicted = PredictAsJson(
      {"--model", "resnet50", "--batch", "4096", "--workers", "1", "--device", "rtx-4060"});
  EXPECT_EQ(predicted.result.exit_code, 4);
  ASSERT_FALSE(predicted.report.is_null());
  EXPECT_TRUE(tests::FitsSchema(predicted.report));
  EXPECT_EQ(predicted.report["result"]["status"], "oom");
  EXPECT_THAT(predicted.report["result"]["failure"].get<std::string>(),
              HasSubstr("are free by device rtx-4060; --batch "));
}

TEST(Predict, RepeatsHaveTheirOwnSeedsAndASummary) {
  const Predicted predicted = PredictAsJson(
      {(kExperiments / "inconclusive.yaml").string(), "--repeats", "4", "--steps", "40"});
  EXPECT_EQ(predicted.result.exit_code, 0);
  EXPECT_EQ(predicted.report["repeats"].size(), 4u);
  EXPECT_EQ(predicted.report["result"]["samples_per_s_interval"]["method"], "repeats (4)");
  EXPECT_TRUE(tests::FitsSchema(predicted.report));
}

TEST(PredictFrom, AReportGivesTheSameExperimentWithTheSameOrigins) {
  for (const auto& file : fs::directory_iterator(kExperiments)) {
    const std::string kept = (TestFolder() / "kept.json").string();
    Predict({file.path().string(), "--seed", "5", "--export", "json=" + kept});
    const auto before = ordered_json::parse(std::ifstream(kept));
    const Predicted after = PredictAsJson({"--from", kept});
    ASSERT_EQ(after.result.exit_code, 0) << after.result.err;
    EXPECT_EQ(after.report["experiment"], before["experiment"]) << file.path();
  }
}

TEST(PredictFrom, AFlagChangesTheRunsExperiment) {
  const std::string kept = (TestFolder() / "kept.json").string();
  Predict({(kExperiments / "loader-bound.yaml").string(), "--export", "json=" + kept});
  const auto before = ordered_json::parse(std::ifstream(kept));
  const Predicted after = PredictAsJson({"--from", kept, "--set", "loader.workers=2"});
  ASSERT_EQ(after.result.exit_code, 0) << after.result.err;
  EXPECT_EQ(after.report["experiment"]["loader.workers"]["value"], "2");
  EXPECT_EQ(after.report["experiment"]["loader.workers"]["origin"], "flag");
  EXPECT_EQ(after.report["experiment"]["loader.batch_size"]["origin"], "file");
  const double gain = after.report["result"]["samples_per_s"].get<double>() /
                      before["result"]["samples_per_s"].get<double>();
  EXPECT_NEAR(gain, 2, 0.02);
}

TEST(PredictFrom, UsesARealRunsDemands) {
  const std::string kept = (TestFolder() / "run.json").string();
  ASSERT_EQ(RunPipesim({(kExperiments / "loader-bound.yaml").string(), "--duration", "1s", "--quiet",
                        "--export", "json=" + kept})
                .exit_code,
            0);
  const Predicted after = PredictAsJson({"--from", kept, "--workers", "2"});
  ASSERT_EQ(after.result.exit_code, 0) << after.result.err;
  EXPECT_EQ(after.report["prediction"]["from"], kept);
  EXPECT_EQ(after.report["prediction"]["cores_from"], "the measured run");
}

TEST(PredictFrom, RefusesAnAdditionalExperimentFile) {
  const std::string kept = (TestFolder() / "kept.json").string();
  Predict({(kExperiments / "io-bound.yaml").string(), "--export", "json=" + kept});
  const CommandResult result =
      Predict({"--from", kept, (kExperiments / "cpu-bound.yaml").string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("use flags to change it"));
  EXPECT_EQ(Predict({"--from", (kExperiments / "io-bound.yaml").string()}).exit_code, 3);
}

TEST(PredictProfile, AnUnknownOrBrokenProfileIsNamedWithItsPlace) {
  CommandResult result = Predict({"--profile", "defualt"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("there is no machine profile 'defualt'"));
  const std::string file = (TestFolder() / "broken.yaml").string();
  std::ofstream(file) << "context: {cores: 2}\nfigures: {wake_up: {value: 40, how: measured}}\n";
  result = Predict({"--profile", file});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("broken.yaml:2:28"));
}

TEST(PredictProfile, ItsCoresAndStepsAreUsed) {
  const std::string file = (TestFolder() / "machine.json").string();
  std::ofstream(file) << R"({"source": "made up", "context": {"cores": 16}, "steps": [{"model": "mlp",
    "shape": [1, 28, 28], "device": "cuda:0", "batch": 256, "time": "1ms", "how": "made up"}]})";
  const Predicted predicted =
      PredictAsJson({"--profile", file, "--workers", "8", "--batch", "256"});
  ASSERT_EQ(predicted.result.exit_code, 0) << predicted.result.err;
  EXPECT_EQ(predicted.report["effective"]["device"], "cuda:0");
  EXPECT_EQ(predicted.report["resources"]["cores"], 16);
  EXPECT_EQ(predicted.report["prediction"]["cores_from"], "the profile");
  EXPECT_EQ(predicted.report["effective"]["device_cost"], "table");
}

/// The rate of a row, made for real by its own settings.
double RateOfRow(std::vector<std::string> words, const ordered_json& row) {
  for (const auto& [path, value] : row["set"].items())
    words.insert(words.end(), {"--set", path + "=" + value.get<std::string>()});
  const Predicted predicted = PredictAsJson(std::move(words));
  EXPECT_EQ(predicted.result.exit_code, 0) << predicted.result.err;
  return predicted.report["result"]["samples_per_s"].get<double>();
}

TEST(PredictWhatIf, EachRowComesTrueAsACommandOfItsOwn) {
  const std::vector<std::string> words{"--model", "mlp",  "--batch",   "64",       "--workers", "3",
                                       "--cpus",  "8",    "--storage", "sata-ssd", "--prepare", "500us",
                                       "--sample-bytes", "200kB", "--device", "tesla-m4", "--steps", "4000"};
  const Predicted base = PredictAsJson(words);
  ASSERT_EQ(base.result.exit_code, 0) << base.result.err;
  int tried = 0;
  for (const auto& row : base.report["diagnosis"]["what_if"]) {
    if (row["set"].empty()) continue;
    EXPECT_NEAR(RateOfRow(words, row) / row["samples_per_s"].get<double>(), 1, 0.03)
        << row["change"];
    ++tried;
  }
  EXPECT_GE(tried, 8);
}

TEST(PredictWhatIf, EnoughDoesNotDependOnTheLengthOfTheRun) {
  std::vector<ordered_json> enough;
  for (const char* steps : {"500", "5000", "50000"}) {
    const Predicted predicted = PredictAsJson({"--model", "mlp", "--batch", "32", "--workers", "4",
                                               "--cpus", "16", "--device", "tesla-m4", "--storage",
                                               "sata-ssd", "--prepare", "1ms", "--steps", steps});
    ASSERT_EQ(predicted.result.exit_code, 0) << predicted.result.err;
    ordered_json found = predicted.report["diagnosis"]["enough"];
    // Only the longer runs see what the borders of epochs cost, which more workers soften.
    EXPECT_NEAR(found["share_of_best"].get<double>(), 1, 0.002);
    found.erase("share_of_best");
    enough.push_back(found);
  }
  EXPECT_EQ(enough[0], enough[1]);
  EXPECT_EQ(enough[1], enough[2]);
}

TEST(PredictObserved, AnotherSystemIsSaidFirst) {
  const std::string file = (kExperiments / "io-bound.yaml").string();
  const Predicted as_described = PredictAsJson({file});
  const auto rate = as_described.report["result"]["samples_per_s"].get<double>();
  EXPECT_TRUE(as_described.report["diagnosis"]["observed"].is_null());
  const Predicted same = PredictAsJson({file, "--observed", "samples_per_s=" + std::to_string(rate)});
  EXPECT_EQ(same.report["diagnosis"]["observed"]["differs"], false);
  EXPECT_EQ(same.report["diagnosis"]["confidence"], as_described.report["diagnosis"]["confidence"]);
  const Predicted other = PredictAsJson({file, "--observed", "samples_per_s=450"});
  EXPECT_TRUE(tests::FitsSchema(other.report));
  EXPECT_EQ(other.report["diagnosis"]["observed"]["differs"], true);
  EXPECT_EQ(other.report["diagnosis"]["confidence"], "low");
  const CommandResult text = Predict({file, "--brief", "--observed", "samples_per_s=450"});
  EXPECT_TRUE(text.out.starts_with("The description is not your system:")) << text.out;
  EXPECT_THAT(text.out, HasSubstr("a read from your storage takes at least"));
  EXPECT_EQ(Predict({file, "--observed", "sample_per_s=450"}).exit_code, 2);
}

TEST(Predict, BriefShowsTheRateAndWhatTheRecommendationGives) {
  const CommandResult text = Predict({(kExperiments / "io-bound.yaml").string(), "--brief"});
  EXPECT_THAT(text.out, testing::ContainsRegex("predicted [0-9,]+ samples/s \\(\\+[0-9,]+ %\\), now [0-9,]+"));
  EXPECT_THAT(text.out, testing::ContainsRegex("\n[0-9,]+ samples/s .* a step"));
}

TEST(Predict, CtrlCEndsALongPredictionWithItsReport) {
  const auto interrupt = [](int pid) {
    support::UntilItHandles(pid, SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(pid, SIGINT);
  };
  const CommandResult result =
      Predict({(kExperiments / "io-bound.yaml").string(), "--steps", "1000000000", "--set",
               "prepare={kind: wait, cost: {distribution: exponential, mean: 1ms}}", "--export",
               "json=-"},
              {.while_running = interrupt});
  EXPECT_EQ(result.exit_code, 130);
  ASSERT_FALSE(result.out.empty()) << result.err;
  EXPECT_EQ(ordered_json::parse(result.out)["result"]["status"], "interrupted");
}

}  // namespace
}  // namespace pipesim
