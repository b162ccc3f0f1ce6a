#include "spec/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/data_files.h"
#include "spec/units_text.h"
#include "support.h"

namespace pipesim::spec {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Origin OriginOf(const Experiment& experiment, const std::string& path) {
  return experiment.settings.at(path).origin;
}

TEST(Read, TheDefaultIsTheMlpWithItsData) {
  const Experiment experiment = ReadExperiment({}, ProjectFolders()).experiment;
  EXPECT_EQ(experiment.name, "mlp");
  EXPECT_EQ(experiment.dataset.samples, 65'536);
  EXPECT_EQ(experiment.dataset.sample_bytes.Mean(), Bytes{784});
  EXPECT_EQ(experiment.dataset.shape, (Shape{1, 28, 28}));
  EXPECT_EQ(experiment.prepare.cost.Mean(), microseconds(5));
  EXPECT_EQ(experiment.storage.preset, "ram");
  EXPECT_EQ(experiment.loader.batch_size, 64);
  EXPECT_EQ(experiment.device.kind, DeviceKind::kAuto);
  EXPECT_EQ(OriginOf(experiment, "dataset.samples"), Origin::kModel);
  EXPECT_EQ(OriginOf(experiment, "storage.bandwidth"), Origin::kPreset);
  EXPECT_EQ(OriginOf(experiment, "loader.batch_size"), Origin::kDefault);
}

TEST(Read, ReadsACompleteExample) {
  const Experiment experiment = Read(R"(
version: 1
name: imagenet-on-hdd
dataset: {samples: 1281167, sample_bytes: 110KiB, shape: [3, 224, 224], dtype: uint8, classes: 1000}
storage: hdd
prepare: {kind: burn, cost: {distribution: lognormal, mean: 2ms, stdev: 1ms}}
loader: {workers: 4, batch_size: 256}
model: {name: resnet18, precision: bf16}
device: {emulated: {preset: rtx-4060}}
)");
  EXPECT_EQ(experiment.name, "imagenet-on-hdd");
  EXPECT_EQ(experiment.prepare.cost.in_units.kind, base::DistributionKind::kLognormal);
  EXPECT_EQ(experiment.prepare.cost.in_units.stdev, 1e6);
  EXPECT_EQ(experiment.storage.queue_depth, 1);
  EXPECT_EQ(experiment.training.precision, Precision::kBf16);
  EXPECT_EQ(experiment.device.preset->name, "rtx-4060");
  EXPECT_EQ(BatchesPerEpoch(experiment), 5005);  // ceil(1,281,167 / 256)
  EXPECT_EQ(BatchSamples(experiment, 5004), 1281167 - 5004 * 256);
}

TEST(Read, AFlagThatTakesTheWorkersAwayTakesWhatTheFileSaysOfThem) {
  const std::string file =
      "loader: {workers: 4, prefetch_factor: 8, timeout: 5s, persistent_workers: true, drop_last: true}";
  const Experiment experiment = Read(file, {{"loader.workers", "0", "--workers"}});
  EXPECT_EQ(experiment.loader.workers, 0);
  EXPECT_EQ(experiment.loader.prefetch_factor, Loader{}.prefetch_factor);
  EXPECT_FALSE(experiment.loader.persistent_workers);
  EXPECT_FALSE(experiment.settings.contains("loader.prefetch_factor"));
  EXPECT_TRUE(experiment.loader.drop_last);
  EXPECT_FALSE(NeedsWorkers(experiment));
  EXPECT_FALSE(NeedsWorkers(Read(file, {})));
  // Two flags contradict each other.
  const std::vector<Override> both{{"loader.workers", "0", "--workers"}, {"loader.prefetch_factor", "8", "--prefetch"}};
  EXPECT_THROW(Read(file, both), base::ConfigError);
  EXPECT_TRUE(NeedsWorkers(Read(file, {{"loader.prefetch_factor", "4", "--prefetch"}})));
}

TEST(Read, AFlagWinsOverTheFileAndExpandsShortForms) {
  const Experiment experiment =
      Read("storage: hdd\nloader: {workers: 4}",
           {{"loader.workers", "8", "--workers"}, Set("storage.bandwidth", "100MB/s")});
  EXPECT_EQ(experiment.loader.workers, 8);
  EXPECT_EQ(OriginOf(experiment, "loader.workers"), Origin::kFlag);
  EXPECT_EQ(experiment.storage.preset, "hdd");
  EXPECT_EQ(experiment.storage.bandwidth->per_s, 100e6);
  EXPECT_EQ(experiment.storage.queue_depth, 1);  // still the preset's
  EXPECT_EQ(OriginOf(experiment, "storage.queue_depth"), Origin::kPreset);
}

TEST(Read, TheLastFlagWinsAndAWholeMapIsReplaced) {
  const Experiment experiment =
      Read("storage: {preset: hdd, bandwidth: 1MB/s}", {{"storage", "nvme", "--storage"},
                                                        {"loader.workers", "2", "--workers"},
                                                        {"loader.workers", "3", "--workers"}});
  EXPECT_EQ(experiment.storage.preset, "nvme");
  EXPECT_EQ(experiment.storage.bandwidth->per_s, 7e9);
  EXPECT_EQ(experiment.loader.workers, 3);
}

TEST(Read, NullLeavesTheDefault) {
  const Experiment experiment = Read("loader: {batch_size: ~}\ndataset: {samples: }");
  EXPECT_EQ(experiment.loader.batch_size, 64);
  EXPECT_EQ(experiment.dataset.samples, 65'536);
}

TEST(Read, UserSettingsOverrideTheModelsDataKeyByKey) {
  const Experiment experiment = Read("dataset: {samples: 1000}\nprepare: {cost: 1ms}");
  EXPECT_EQ(experiment.dataset.samples, 1000);
  EXPECT_EQ(experiment.dataset.classes, 10);
  EXPECT_EQ(experiment.prepare.kind, PrepareKind::kBurn);
  EXPECT_EQ(experiment.prepare.cost.Mean(), milliseconds(1));
}

TEST(Read, InlineStorageIsUnlimitedByDefault) {
  const Experiment experiment = Read("storage: {latency: 1ms, iops: 2k}");
  EXPECT_EQ(experiment.storage.kind, StorageKind::kEmulated);
  EXPECT_EQ(experiment.storage.preset, "");
  EXPECT_FALSE(experiment.storage.bandwidth.has_value());
  EXPECT_EQ(experiment.storage.iops_per_s, 2000);
}

TEST(Read, StorageNoneIsFree) { EXPECT_EQ(Read("storage: none").storage.kind, StorageKind::kNone); }

TEST(Read, RealFilesAreDecodedAndCountedLater) {
  Experiment experiment = Read("storage: {kind: files, path: /data/flowers}\nmodel: resnet18");
  EXPECT_EQ(experiment.prepare.kind, PrepareKind::kDecode);
  EXPECT_EQ(experiment.dataset.samples, 0);
  EXPECT_EQ(experiment.dataset.classes, 0);
  EXPECT_EQ(experiment.settings.at("dataset.samples").text, "auto");

  SetFromData(experiment, 4242, 102, Bytes{50'000});
  EXPECT_EQ(experiment.dataset.samples, 4242);
  EXPECT_EQ(experiment.model.layers.back().out, 102);
  EXPECT_EQ(experiment.settings.at("dataset.classes").text, "102");
  EXPECT_EQ(OriginOf(experiment, "dataset.classes"), Origin::kData);
}

TEST(Read, ExplicitClassesMustCoverTheFolder) {
  Experiment experiment =
      Read("storage: {kind: files, path: /d}\nmodel: resnet18\ndataset: {classes: 50}");
  EXPECT_THROW(SetFromData(experiment, 100, 51, Bytes{1}), base::ConfigError);
  SetFromData(experiment, 100, 7, Bytes{1});
  EXPECT_EQ(experiment.dataset.classes, 50);
  EXPECT_EQ(experiment.model.layers.back().out, 50);
}

TEST(Read, DropLastNeedsAFolderWithAtLeastOneBatch) {
  Experiment experiment =
      Read("storage: {kind: files, path: /d}\nmodel: resnet18\nloader: {drop_last: true}");
  EXPECT_THROW(SetFromData(experiment, 63, 2, Bytes{1}), base::ConfigError);
}

TEST(Read, DevicesHaveManyShortForms) {
  EXPECT_EQ(Read("device: cpu").device.kind, DeviceKind::kCpu);
  EXPECT_EQ(Read("device: cuda:3").device.cuda_index, 3);
  EXPECT_EQ(Read("device: h200").device.preset->name, "h200");
  EXPECT_EQ(Read("device: {emulated: a100, in_flight: 4}").device.in_flight, 4);
  EXPECT_EQ(Read("device: {emulated: {preset: h100}}").device.preset->name, "h100");
  const Device stated = Read("device: {emulated: {base: 200us, per_sample: 5us}}").device;
  EXPECT_EQ(stated.step_base->Mean(), microseconds(200));
  EXPECT_EQ(stated.step_per_sample.Mean(), microseconds(5));
  EXPECT_FALSE(stated.preset.has_value());
}

TEST(Read, PlainEmulatedUsesTheDefaultPreset) {
  const Experiment experiment = Read("device: emulated");
  EXPECT_EQ(experiment.device.preset->name, "rtx-4060");
  EXPECT_EQ(experiment.device.preset->fp32_flops_per_s, 15.1e12);
  EXPECT_EQ(OriginOf(experiment, "device.emulated.preset"), Origin::kDefault);
  EXPECT_EQ(OriginOf(experiment, "device.name"), Origin::kFile);
}

TEST(Read, AnEmulatedDeviceThatStatesNothingUsesTheDefaultPreset) {
  // `{base}` is YAML for a base without a value. A device that costs nothing is stated: base: 0.
  for (const char* text : {"device: {emulated: {}}", "device: {emulated: {base}}", "device: {emulated: }"})
    EXPECT_EQ(Read(text).device.preset->name, "rtx-4060") << text;
  EXPECT_FALSE(Read("device: {emulated: {base: 0s}}").device.preset);
}

TEST(Read, CpusAreACountOrAList) {
  EXPECT_EQ(Read("limits: {cpus: 4}").limits.cpu_count, 4);
  EXPECT_EQ(Read("limits: {cpus: '0-3,6'}").limits.cpu_list, (std::vector<int>{0, 1, 2, 3, 6}));
  EXPECT_EQ(Read("", {{"limits.cpus", "0-1", "--cpus"}}).limits.cpu_list, (std::vector<int>{0, 1}));
}

TEST(Read, CustomLayersNeedNoRebuild) {
  const Experiment experiment = Read(R"(
dataset: {samples: 100, shape: [3, 8, 8], classes: 5}
model:
  name: mine
  layers:
    - repeat: {times: 2, body: [conv2d: {out: 4, kernel: 3, padding: 1}, relu]}
    - residual: {body: [conv2d: {out: 4, kernel: 1}]}
    - global_avg_pool
    - linear: {out: classes}
)");
  EXPECT_EQ(experiment.model.name, "mine");
  ASSERT_EQ(experiment.model.layers.size(), 7U);
  EXPECT_EQ(experiment.model.layers.back().out, 5);
  EXPECT_EQ(experiment.dataset.sample_bytes.Mean(),
            Bytes{192});  // 3 x 8 x 8 uint8, stored as it is
}

TEST(Read, ProblemsFromFlagsPointIntoTheFlagAsTyped) {
  const auto problems = ProblemsOf("", {{"prepare.cost", "8 m", "--prepare"}});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].source, "command line");
  EXPECT_EQ(problems[0].line, 0);
  EXPECT_EQ(problems[0].source_line, "--prepare 8 m");
  EXPECT_EQ(problems[0].column, 11);
  EXPECT_EQ(problems[0].width, 3);
  EXPECT_EQ(problems[0].suggestion, "8min or 8ms");
}

TEST(Read, ABadPathInSetIsUnderlined) {
  const auto problems = ProblemsOf("", {Set("loader.wrokers", "4")});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].source_line, "--set loader.wrokers=4");
  EXPECT_EQ(problems[0].column, 14);
  EXPECT_EQ(problems[0].width, 7);
  EXPECT_EQ(problems[0].suggestion, "workers");
}

TEST(Read, EveryProblemIsReportedAtOnce) {
  const auto problems = ProblemsOf(
      "loader: {workers: four, batch_size: 0}\nstorage: hddd\nmodel: {precision: fp8}\n"
      "run: {duration: 10}");
  EXPECT_EQ(problems.size(), 5U);
}

TEST(Read, AtMostAHundredProblemsAreReported) {
  std::string yaml;
  for (int i = 0; i < 1000; ++i) yaml += "unknown" + std::to_string(i) + ": 1\n";
  const auto problems = ProblemsOf(yaml);
  ASSERT_EQ(problems.size(), 101U);
  EXPECT_EQ(problems.back().what, "and 900 more problems");
}

TEST(Read, SettingsWithoutEffectCauseWarnings) {
  const auto result =
      ReadExperimentText("run: {duration: 5s, min_steps: 100}", "test.yaml", {}, ProjectFolders());
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_THAT(result.warnings[0].what, HasSubstr("run.min_steps"));
  EXPECT_EQ(result.warnings[0].column, 32);
}

TEST(Read, WorkerSettingsAreErrorsWithoutWorkersOnlyWhenSet) {
  EXPECT_THAT(ProblemsOf("loader: {workers: 0}"), IsEmpty());
  EXPECT_THAT(ProblemsOf("loader: {timeout: 0, persistent_workers: false}"), IsEmpty());
  EXPECT_EQ(
      ProblemsOf("loader: {prefetch_factor: 2, timeout: 1s, persistent_workers: true}").size(), 3U);
}

TEST(Read, EveryPresetAndModelReads) {
  for (const std::string& name : DataNames(ProjectFolders(), DataKind::kModel))
    Read("model: " + name);
  for (const std::string& name : DataNames(ProjectFolders(), DataKind::kStorage))
    Read("storage: " + name);
  for (const std::string& name : DataNames(ProjectFolders(), DataKind::kDevice))
    Read("device: " + name);
  EXPECT_THAT(DataNames(ProjectFolders(), DataKind::kModel), Contains("transformer"));
  EXPECT_THAT(DataNames(ProjectFolders(), DataKind::kStorage), Contains("sata-ssd"));
  EXPECT_THAT(DataNames(ProjectFolders(), DataKind::kDevice), Contains("tesla-m4"));
}

TEST(Read, AMissingFileIsAnEnvironmentError) {
  EXPECT_THROW(ReadExperiment({.file = "/no/such/file.yaml", .overrides = {}}, ProjectFolders()),
               base::EnvironmentError);
  EXPECT_THROW(ReadExperiment({.file = "/dev/zero", .overrides = {}}, ProjectFolders()),
               base::EnvironmentError);
}

}  // namespace
}  // namespace pipesim::spec
