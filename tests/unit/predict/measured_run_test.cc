// Predictions that rest on a run's own figures: `--from`, real files, decoding.
#include <gmock/gmock.h>

#include "experiments.h"
#include "predict/predict.h"

namespace pipesim::predict {
namespace {

using namespace std::chrono_literals;
using cost::Source;

/// A run of kTrainOnly with workers, as its report would hold it.
MeasuredRun RunOf(const spec::Experiment& experiment) {
  MeasuredRun run;
  run.source = "before.json";
  for (const auto& [path, setting] : experiment.settings) run.texts[path] = setting.text;
  run.device = spec::DeviceId::Cpu();
  run.compute_threads = 2;
  run.cores = 6;
  run.batch_samples = 64;
  run.step_s = 0.020;
  run.collate_s = 0.001;
  run.host_s = 0.0005;
  return run;
}

TEST(Prediction, TheMeasuredRunsDemandsComeBeforeTheProfile) {
  const auto experiment = Read(std::string(kTrainOnly) + "limits: {compute_threads: 2}\n");
  Basis basis = FreeMachine(kLinearSteps);
  basis.run = RunOf(experiment);
  const Resolved costs = Resolve(experiment, basis);
  EXPECT_EQ(costs.notes.step, Source::kRun);
  EXPECT_EQ(costs.notes.from, "before.json");
  EXPECT_EQ(costs.notes.cores, 6);
  EXPECT_EQ(costs.pipeline.step.Mean(64), 20ms);
  EXPECT_EQ(costs.pipeline.step.threads, 2);
  EXPECT_DOUBLE_EQ(costs.pipeline.collate.bandwidth->per_s, 64 * 8 / 0.001);
  EXPECT_EQ(costs.pipeline.host.step, 500us);
}

TEST(Prediction, ARunHadTheCoresThatWereThereNotThoseItAskedFor) {
  const std::string yaml = std::string(kTrainOnly) + "device: cpu\nlimits: {cpus: 16, compute_threads: 2}\n";
  Basis basis = FreeMachine(kLinearSteps);
  const auto experiment = Read(yaml);
  EXPECT_EQ(Resolve(experiment, basis).notes.cores, 16);
  basis.run = RunOf(experiment);
  EXPECT_EQ(Resolve(experiment, basis).notes.cores, 6);
  EXPECT_EQ(Resolve(Read(yaml, {{"limits.cpus", "32", "--cpus"}}), basis).notes.cores, 32);
}

TEST(Prediction, SaysThatTheRunWasMeasuredBesideOtherPrograms) {
  const auto experiment = Read(std::string(kTrainOnly) + "limits: {compute_threads: 2}\n");
  Basis basis = FreeMachine(kLinearSteps);
  for (const double foreign : {0.1, 3.0}) {
    basis.run = RunOf(experiment);
    basis.run->foreign_cores = foreign;
    const auto warnings = Resolve(experiment, basis).warnings;
    EXPECT_EQ(std::any_of(warnings.begin(), warnings.end(),
                          [](const auto& each) { return each.code == "measured-beside-others"; }),
              foreign > 1);
  }
}

TEST(Prediction, ADemandWhoseSettingsChangedIsTheProfilesAgain) {
  const auto before = Read(std::string(kTrainOnly) + "limits: {compute_threads: 2}\n");
  Basis basis = FreeMachine(kLinearSteps);
  basis.run = RunOf(before);
  const std::vector<spec::Override> adam{{"model.optimizer", "adam", "--set"}};
  auto after = Read(std::string(kTrainOnly) + "device: cpu\nlimits: {compute_threads: 2}\n", adam);
  EXPECT_THROW(Resolve(after, basis), base::ConfigError);  // no step of adam is known
  const std::vector<spec::Override> workers{{"loader.workers", "4", "--workers"}};
  after = Read(std::string(kTrainOnly) + "limits: {compute_threads: 2}\n", workers);
  EXPECT_EQ(Resolve(after, basis).notes.step, Source::kRun);
}

TEST(Prediction, RealFilesAndDecodingCostWhatTheRunMeasured) {
  const auto experiment = Read(
      "storage: {kind: files, path: /nowhere}\nmodel: linear\ndevice: rtx-4060\n"
      "dataset: {samples: 100, sample_bytes: 10kB, shape: [3, 8, 8], classes: 2}\n");
  Basis basis = FreeMachine();
  EXPECT_THROW(Resolve(experiment, basis), base::ConfigError);  // decoding has no cost
  basis.run = RunOf(experiment);
  basis.run->prepare_cpu_s = 0.064;
  basis.run->read_s = 0.128;
  basis.run->reads = 64;
  const cost::Pipeline pipeline = Resolve(experiment, basis).pipeline;
  EXPECT_TRUE(pipeline.prepare.UsesCores());
  EXPECT_EQ(pipeline.prepare.cost.Mean(), 1ms);
  EXPECT_EQ(pipeline.prepare.Threads(4), 1);  // one thread decodes a sample
  // It writes 3 x 8 x 8 bytes in 1 ms: its share of the memory's bandwidth.
  EXPECT_DOUBLE_EQ(pipeline.prepare.memory_bytes_per_s, 192 / 1e-3);
  EXPECT_TRUE(pipeline.storage.present);
  EXPECT_EQ(pipeline.storage.latency.Mean(), 2ms);
}

/// 2 workers that decode 3 x 8 x 8 bytes out of 10 kB at 50 MB/s: 0.2 ms a sample, 0.96 MB/s each.
spec::Experiment TwoWorkersDecode() {
  return Read(
      "storage: {kind: files, path: /nowhere}\nmodel: linear\nprepare: decode\n"
      "dataset: {samples: 6400, sample_bytes: 10kB, shape: [3, 8, 8], classes: 2}\n"
      "loader: {workers: 2}\ndevice: {emulated: {base: 1us}}\nrun: {steps: 200}\n");
}
constexpr const char* kDecoding = "figures:\n  decode_bandwidth: {value: 50MB/s, how: m}\n";

TEST(Prediction, DecodingCostsAThreadItsShareOfTheMemorysBandwidth) {
  const cost::Prepare prepare = Resolve(TwoWorkersDecode(), FreeMachine(kDecoding)).pipeline.prepare;
  EXPECT_TRUE(prepare.UsesCores());
  EXPECT_EQ(prepare.cost.Mean(), 200us);
  EXPECT_EQ(prepare.Threads(4), 1);
  EXPECT_DOUBLE_EQ(prepare.memory_bytes_per_s, 192 / 200e-6);
}

TEST(Prediction, WorkersThatDecodeShareTheMemory) {
  const auto rate = [](const std::string& figures) {
    const Basis basis = FreeMachine(kDecoding + figures);
    return *Predict(TwoWorkersDecode(), basis, nullptr).measurement.result.samples_per_s;
  };
  EXPECT_NEAR(rate(""), 2 / 200e-6, 1);  // workers / cost
  // Decoding takes 200 us, collating 192 bytes as long. 8 threads together copy as much as one: each
  // other adds the time of one alone.
  EXPECT_NEAR(rate("  collate_bandwidth: {value: 960kB/s, how: m}\n"
                   "  collate_bandwidth_all_cores: {value: 960kB/s, how: m}\n"),
              2 / (2 * 400e-6), 1);
}

TEST(Prediction, FilesInThePageCacheCostWorkAndNoWait) {
  const auto experiment = Read(
      "storage: {kind: files, path: /nowhere, cache: warm}\nmodel: linear\ndevice: rtx-4060\n"
      "dataset: {samples: 100, sample_bytes: 10kB, shape: [3, 8, 8], classes: 2}\n");
  Basis basis = FreeMachine(
      "figures:\n  read_bandwidth: {value: 1GB/s, how: m}\n"
      "  decode_bandwidth: {value: 50MB/s, how: m}\n  storage_latency: {value: 5ms, how: m}\n"
      "  storage_bandwidth: {value: 100MB/s, how: m}\n");
  const cost::Storage profiled = Resolve(experiment, basis).pipeline.storage;
  EXPECT_EQ(profiled.cache.warm, 1);
  EXPECT_EQ(profiled.cache.hit_bandwidth->per_s, 1e9);
  EXPECT_EQ(profiled.latency.Mean(), 0ms);
  EXPECT_FALSE(profiled.bandwidth);
  basis.run = RunOf(experiment);
  basis.run->prepare_cpu_s = 0.064;
  basis.run->read_s = 0.128;  // of 64 files of 10 kB
  basis.run->reads = 64;
  EXPECT_DOUBLE_EQ(Resolve(experiment, basis).pipeline.storage.cache.hit_bandwidth->per_s,
                   64 * 10e3 / 0.128);
}

}  // namespace
}  // namespace pipesim::predict
