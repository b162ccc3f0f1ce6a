// `pipesim import`: workloads of MLPerf Storage predicted as it scored them, profiler traces with a
// verdict, and inputs that are neither.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/schema.h"
#include "what_if_row.h"

namespace pipesim::support {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kWorkloads = PIPESIM_SOURCE_DIR "/configs/dlio/";

/// Imports a workload and predicts it on another machine than this one: --profile.
json Predicted(std::vector<std::string> import, std::vector<std::string> predict) {
  const std::string file = TestFolder() / "imported.yaml";
  import.insert(import.begin(), "import");
  import.insert(import.end(), {"--out", file});
  const CommandResult imported = RunPipesim(import);
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  predict.insert(predict.begin(), {"predict", file, "--profile", "default", "--no-save", "--quiet"});
  predict.insert(predict.end(), {"--export", "json=-"});
  const CommandResult predicted = RunPipesim(predict);
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  return predicted.out.empty() ? json() : json::parse(predicted.out);
}

/// 40 steps of 1 ms of which the host waits `waits_us` for a batch.
std::string TraceOfLoop(int waits_us) {
  json events = json::array();
  for (int step = 0; step < 40; ++step) {
    const auto event = [&](const std::string& name, int us) {
      events.push_back({{"ph", "X"},
                        {"cat", "user_annotation"},
                        {"name", name},
                        {"ts", 1000 * step},
                        {"dur", us}});
    };
    event("ProfilerStep#" + std::to_string(step), 1000);
    event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", waits_us);
  }
  return json{{"traceEvents", events}}.dump();
}

// MLPerf Storage v1.0 (mlcommons/storage_results_v1.0, Closed/Micron): one Micron 9550 in one host.
// Its bandwidth is what ResNet-50 drew from it, which it limits in both submissions, the mean of
// their five runs each: 93,464 records/s for 58 H100 at an AU of 90.3 %, 95,526 for 115 A100
// at 90.7 %, 114,303 stored bytes each (338 x 338, a tf.train.Example, a TFRecord).
const std::string kMicron9550 = "storage.bandwidth=10301MiB/s";

void ExpectScore(const json& document, double au, double samples_per_s) {
  const json& score = document["result"]["mlperf"];
  EXPECT_TRUE(tests::FitsSchema(document, "run"));
  EXPECT_NEAR(score["au"].get<double>(), au, 0.03 * au);
  EXPECT_NEAR(score["samples_per_s"].get<double>(), samples_per_s, 0.03 * samples_per_s);
}

TEST(ImportDlio, Unet3dOnFourH100ScoresAsPublished) {
  const json predicted = Predicted({kWorkloads + "unet3d_h100.yaml", "--accelerators", "4", "--set",
                                    "reader.read_threads=48", "--set", "dataset.num_files_train=14000"},
                                   {"--set", kMicron9550, "--cpus", "192"});
  ExpectScore(predicted, 0.9027, 71.12);
}

TEST(ImportDlio, Unet3dOnEightA100ScoresAsPublished) {
  const json predicted = Predicted({kWorkloads + "unet3d_a100.yaml", "--accelerators", "8", "--set",
                                    "++workload.reader.read_threads=96", "--set",
                                    "++workload.dataset.num_files_train=28000"},
                                   {"--set", kMicron9550, "--cpus", "192"});
  ExpectScore(predicted, 0.9029, 66.22);
}

TEST(ImportDlio, AWorkloadThatItsStorageFeedsScoresNearlyOne) {
  const json predicted = Predicted({kWorkloads + "unet3d_a100.yaml", "--set", "dataset.num_files_train=1400"},
                                   {"--set", "storage.bandwidth=100GB/s", "--cpus", "64"});
  EXPECT_NEAR(predicted["result"]["mlperf"]["au"].get<double>(), 1, 0.01);
  EXPECT_EQ(predicted["diagnosis"]["bottleneck"], "compute-bound");
}

TEST(ImportDlio, SizeUsesTheBenchmarksOwnUtilization) {
  const std::string file = TestFolder() / "resnet50.yaml";
  const std::string workload = kWorkloads + "resnet50_h100.yaml";
  ASSERT_EQ(RunPipesim({"import", workload, "--set", "dataset.num_files_train=64", "--out", file}).exit_code, 0);
  const CommandResult sized =
      RunPipesim({"size", file, "--profile", "default", "--cpus", "512", "--set", "storage.bandwidth=2GB/s",
                  "--target", "au>=0.9", "--solve", "accelerators", "--export", "json=-"});
  ASSERT_EQ(sized.exit_code, 0) << sized.err;
  // One accelerator takes 400 x 114,660 B each 0.224 s: 204.8 MB/s. At most 1 / 0.9 of what is fed.
  const double most = 2e9 / 204.8e6 / 0.9;
  EXPECT_NEAR(json::parse(sized.out)["answer"]["value"].get<double>(), most, 1);
}

/// Runs the last line of an import, "Next  pipesim ...".
CommandResult RunNext(const CommandResult& imported) {
  constexpr std::string_view kNext = "\nNext  pipesim ";
  const std::size_t at = imported.out.rfind(kNext);
  EXPECT_NE(at, std::string::npos) << imported.out;
  if (at == std::string::npos) return {};
  std::istringstream line(imported.out.substr(at + kNext.size()));
  return RunPipesim({std::istream_iterator<std::string>(line), {}});
}

TEST(Import, EndsWithACommandThatWorksOnTheFileItWrote) {
  const std::string trace = TestFolder() / "t.json", file = TestFolder() / "e.yaml";
  std::ofstream(trace) << TraceOfLoop(900);
  for (const std::string& source : {kWorkloads + "unet3d_h100.yaml", trace}) {
    const CommandResult imported = RunPipesim({"import", source, "--out", file});
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
    const CommandResult next = RunNext(imported);
    EXPECT_EQ(next.exit_code, 0) << next.err;
    EXPECT_THAT(next.out, HasSubstr("Predicted: ")) << source;
  }
  // Words for a shell; without a file there is no command.
  const std::string spaced = TestFolder() / "my file.yaml";
  EXPECT_THAT(RunPipesim({"import", trace, "--out", spaced}).out,
              testing::EndsWith("Next  pipesim predict '" + spaced + "'\n"));
  EXPECT_THAT(RunPipesim({"import", trace}).out, testing::Not(HasSubstr("Next")));
}

TEST(ImportDlio, TheFirstPredictionHasAStorageThatTheWorkloadLeavesOpen) {
  const std::string file = TestFolder() / "e.yaml", workload = TestFolder() / "w.yaml";
  const auto next = [&](const std::string& yaml) {
    std::ofstream(workload) << yaml;
    return RunPipesim({"import", workload, "--out", file}).out;
  };
  EXPECT_THAT(next("reader: {}"), testing::EndsWith("--set storage.preset=nvme\n"));
  EXPECT_THAT(next("reader: {data_loader: synthetic}"), testing::EndsWith(file + "\n"));
}

TEST(ImportDlio, MoreThanAnExperimentTakesIsRefusedAndNothingIsWritten) {
  const std::string file = TestFolder() / "refused.yaml";
  const CommandResult result = RunPipesim({"import", kWorkloads + "unet3d_h100.yaml", "--set",
                                           "reader.read_threads=60000", "--out", file});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("the imported experiment:"));
  EXPECT_THAT(result.err, HasSubstr("loader.workers"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(ImportDlio, MistakesAreNamedWithTheirPlace) {
  const std::string file = TestFolder() / "w.yaml";
  std::ofstream(file) << "reader: {read_thread: 4}\n";
  const CommandResult result = RunPipesim({"import", file});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("w.yaml:1:10: error: DLIO has no key 'read_thread' in reader"));
  EXPECT_THAT(result.err, HasSubstr("read_threads"));
  EXPECT_EQ(RunPipesim({"import", kWorkloads + "unet3d_h100.yaml", "--accelerators", "0"}).exit_code, 2);
  EXPECT_EQ(RunPipesim({"import"}).exit_code, 2);
  EXPECT_EQ(RunPipesim({"import", "/no/such.yaml"}).exit_code, 3);
  const std::string experiment = PIPESIM_SOURCE_DIR "/configs/experiments/io-bound.yaml";
  EXPECT_THAT(RunPipesim({"import", experiment}).err, HasSubstr("no DLIO workload"));
}

TEST(ImportDlio, ARunHasNobodyToMeet) {
  const CommandResult result = RunPipesim({"run", "--set", "run.barrier=true", "--set",
                                           "storage={bandwidth: 1GB/s, sharing: fair}", "--device", "emulated"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("a barrier can only be predicted"));
  EXPECT_THAT(result.err, HasSubstr("fair sharing can only be predicted"));
}

/// The prediction of a loop of 40 steps of 1 ms.
json PredictedOfLoop(int waits_us, const std::string& loader, const std::string& verdict,
                     std::vector<std::string> flags) {
  const std::string trace = TestFolder() / "t.json", file = TestFolder() / "e.yaml";
  std::string events = TraceOfLoop(waits_us);
  for (std::size_t at; (at = events.find("_MultiProcessing")) != std::string::npos;)
    events.replace(at, std::strlen("_MultiProcessing"), loader);
  std::ofstream(trace) << events;
  std::filesystem::remove(file);
  const CommandResult result = RunPipesim({"import", trace, "--out", file});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("verdict: " + verdict));
  EXPECT_THAT(result.out, HasSubstr("assumed: training uses all cores"));
  flags.insert(flags.begin(), {"predict", file, "--profile", "default", "--no-save", "--export", "json=-"});
  const CommandResult predicted = RunPipesim(flags);
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  return json::parse(predicted.out);
}

// A trace holds the trainer's waits, whatever the workers did meanwhile and however many there were.
TEST(ImportTrace, OfWorkersPromisesWhatFreeDataGainsAndNoNumberOfWorkers) {
  const std::string verdict = "input side: the loader starves training";
  const json document = PredictedOfLoop(900, "_MultiProcess", verdict, {"--cpus", "8"});
  EXPECT_NEAR(document["result"]["steps_per_s"].get<double>(), 1000, 20);
  const json& diagnosis = document["diagnosis"];
  EXPECT_EQ(diagnosis["bottleneck"], "inconclusive");
  EXPECT_EQ(diagnosis["confidence"], "none");
  EXPECT_EQ(diagnosis["side"], "input");
  // 1 ms / (100 us and the loop's own 3 us) - 1
  EXPECT_NEAR(tests::RowOf(document, "free data (upper bound)")["gain"].get<double>(), 9, 0.4);
  for (const json& row : diagnosis["what_if"]) EXPECT_THAT(row.dump(), Not(HasSubstr("loader."))) << row;
  const json more = PredictedOfLoop(900, "_MultiProcess", "input side", {"--cpus", "8", "--workers", "8"});
  EXPECT_NEAR(more["result"]["steps_per_s"].get<double>(), 1000, 20);
}

TEST(ImportTrace, OfALoopThatLoadsItselfPredictsTheTurnsThatItTakes) {
  const json document = PredictedOfLoop(300, "_SingleProcess", "loader-bound", {"--cpus", "8", "--threads", "4"});
  EXPECT_NEAR(document["result"]["steps_per_s"].get<double>(), 1000, 20);
  // A worker process would take longer to hand a batch over than the batch takes to load.
  EXPECT_EQ(document["diagnosis"]["bottleneck"], "compute-bound");
  EXPECT_LT(tests::RowOf(document, "workers 0 to 1")["gain"].get<double>(), 0);
}

// Two threads train and a worker loads, on two cores: 2 x 560 us + 440 us of them a step, of 1 ms now.
TEST(ImportTrace, AWorkerGainsLittleWhereTrainingHasAllCores) {
  const json document = PredictedOfLoop(440, "_SingleProcess", "loader-bound", {"--cpus", "2"});
  EXPECT_NEAR(document["result"]["steps_per_s"].get<double>(), 1000, 20);
  EXPECT_LT(tests::RowOf(document, "workers 0 to 1")["gain"].get<double>(), 1 / 0.78 - 1 + 0.01);
}

// The step is of the traced program's model; a preset's roofline would be of the default one.
TEST(ImportTrace, PromisesNoDeviceForAModelThatItDoesNotName) {
  const json document = PredictedOfLoop(50, "_SingleProcess", "loader-bound", {"--cpus", "2"});
  ASSERT_FALSE(tests::RowOf(document, "device x2").is_null());
  for (const json& row : document["diagnosis"]["what_if"])
    EXPECT_THAT(row["change"].get<std::string>(), Not(HasSubstr("device to")));
}

TEST(ImportTrace, GivesTheVerdictOnTracesThatPyTorchRecorded) {
  const std::string folder = PIPESIM_SOURCE_DIR "/tests/pytorch/data/";
  const auto verdict = [&](const std::string& name) {
    const CommandResult result = RunPipesim({"import", folder + name + ".json.gz"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_THAT(verdict("starved_cpu"),
              HasSubstr("# verdict: input side: the loader starves training"));
  EXPECT_THAT(verdict("compute_bound_cpu"),
              HasSubstr("# verdict: compute-bound: training on the CPU"));
}

TEST(ImportTrace, ItsExperimentTellsLaunchingWaitingAndComputingOnAGpuApart) {
  struct Case {
    std::string name, verdict;
    double step_s, without_sync;
  };
  const std::string file = TestFolder() / "e.yaml";
  for (const Case& c : {Case{"launch_bound", "launch-bound", 9.59e-3, 0},
                        Case{"compute_bound", "compute-bound", 18.6e-3, 0},
                        // The verdict is the largest gain's, which free computing has; the trace promises +13 %.
                        Case{"synced", "compute-bound", 5.96e-3, 0.13}}) {
    const std::string trace = PIPESIM_SOURCE_DIR "/tests/pytorch/data/" + c.name + "_cuda.json.gz";
    ASSERT_EQ(RunPipesim({"import", trace, "--out", file}).exit_code, 0) << c.name;
    const CommandResult result = RunPipesim({"predict", file, "--no-save", "--export", "json=-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json predicted = json::parse(result.out);
    EXPECT_EQ(predicted["diagnosis"]["bottleneck"], c.verdict) << c.name;
    EXPECT_NEAR(1 / predicted["result"]["steps_per_s"].get<double>(), c.step_s, 0.05 * c.step_s) << c.name;
    const json row = tests::RowOf(predicted, "no sync");
    EXPECT_NEAR(row.is_null() ? 0 : row["gain"].get<double>(), c.without_sync, 0.02) << c.name;
    std::filesystem::remove(file);
  }
}

TEST(ImportTrace, OneThatIsNoJsonSaysWhere) {
  const std::string trace = TestFolder() / "t.json";
  std::ofstream(trace) << "what?";
  const CommandResult result = RunPipesim({"import", trace});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err,
              HasSubstr("t.json: error: this is no trace: at byte 1 it stops being JSON"));
}

TEST(ImportTrace, OneThatBreaksOffGivesAStatedPartialResult) {
  const std::string trace = TestFolder() / "cut.json";
  const std::string whole = TraceOfLoop(20);
  std::ofstream(trace) << whole.substr(0, whole.size() / 2);
  const CommandResult result = RunPipesim({"import", trace});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("# verdict: compute-bound"));
  EXPECT_THAT(result.out, HasSubstr("# the trace breaks off at byte"));
}

}  // namespace
}  // namespace pipesim::support
