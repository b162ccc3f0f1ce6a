// Every key's text reads back, as flags and as a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "spec/data_files.h"
#include "support.h"

namespace pipesim::spec {
namespace {

/// The settings as a file: nested maps from dotted paths.
std::string AsFile(const Experiment& experiment) {
  std::string text;
  std::string parent;
  for (const auto& [path, setting] : experiment.settings) {
    std::size_t begin = 0;
    std::string indent;
    std::string prefix;
    for (std::size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1) {
      prefix = path.substr(0, dot + 1);
      if (!parent.starts_with(prefix)) text += indent + path.substr(begin, dot - begin) + ":\n";
      indent += "  ";
    }
    text += indent + path.substr(begin) + ": " + setting.text + "\n";
    parent = prefix;
  }
  return text;
}

void ExpectReadsBack(const Experiment& experiment) {
  const Experiment from_flags = Read("", AsOverrides(experiment));
  EXPECT_EQ(TextsOf(from_flags), TextsOf(experiment));
  EXPECT_EQ(from_flags.model, experiment.model);
  const Experiment from_file = Read(AsFile(experiment));
  EXPECT_EQ(TextsOf(from_file), TextsOf(experiment)) << AsFile(experiment);
  EXPECT_EQ(from_file.model, experiment.model);
  for (const auto& [path, setting] : from_file.settings) {
    // Values to be counted in the folder are `auto`, which sets nothing.
    if (setting.text == "auto" && path.starts_with("dataset.")) continue;
    EXPECT_EQ(setting.origin, Origin::kFile) << path;
  }
}

TEST(Settings, EachModelReadsBack) {
  for (const std::string& name : DataNames(ProjectFolders(), DataKind::kModel))
    ExpectReadsBack(Read("model: " + name));
}

TEST(Settings, EachExampleReadsBack) {
  int read = 0;
  const auto folder = std::filesystem::path(PIPESIM_SOURCE_DIR) / "configs/experiments";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto result = ReadExperiment({.file = entry.path(), .overrides = {}}, ProjectFolders());
    EXPECT_TRUE(result.warnings.empty()) << entry.path();
    ExpectReadsBack(result.experiment);
    ++read;
  }
  EXPECT_GE(read, 5);
}

TEST(Settings, CustomLayersReadBack) {
  ExpectReadsBack(Read(R"(
dataset: {samples: 9, shape: [3, 8, 8], classes: 5}
model:
  layers:
    - conv2d: {out: 4, kernel: 3, stride: 2, groups: 1, bias: false}
    - residual: {body: [batch_norm2d, dropout: {p: 12.5%}]}
    - max_pool2d: {kernel: 2, stride: 1}
    - flatten
    - linear: {out: classes}
)"));
}

TEST(Settings, ARecordedProgramReadsBack) {
  const Experiment e = Read(R"(
dataset: {samples: 900, sample_bytes: 600kB, shape: [150000], dtype: float32, tensors: 3, numbers: 2}
prepare: {cost: {distribution: empirical, values: [1ms, 2ms]}, wait: {distribution: exponential, mean: 4ms}}
collate: {batch: {distribution: normal, mean: 200us, stdev: 10us}, sample: 3us}
loader:
  kind: process
  workers: 2
  start_method: spawn
  worker_startup: 2s
  worker_opening: 500ms
  worker_launch: 12ms
  share: {distribution: normal, mean: 100us, stdev: 5us}
  send: {distribution: normal, mean: 300us, stdev: 20us}
  receive: 250us
  serve: 200us
  receive_latency: 100us
  receive_wait: {distribution: exponential, mean: 5ms}
  of_one: {share: 110us, send: 320us, serve: 210us, receive: 260us, receive_latency: 80us}
  of_many: {workers: 8, share: 150us, send: 350us, serve: 250us, receive: 300us, receive_latency: 90us}
  worker_memory: 230MB
  python_sample: 4us
device: {name: cpu, step: {base: 2ms, per_sample: 10us, threads: 4, one_thread: 2.5}}
)");
  ExpectReadsBack(e);
  EXPECT_EQ(e.loader.kind, LoaderKind::kProcess);
  EXPECT_TRUE(e.loader.HasProcesses());
  EXPECT_EQ(e.loader.start_method, StartMethod::kSpawn);
  EXPECT_EQ(e.loader.receive->Mean(), std::chrono::microseconds(250));
  EXPECT_EQ(e.loader.worker_memory->count, 230'000'000);
  EXPECT_EQ(e.prepare.wait.Mean(), std::chrono::milliseconds(4));
  EXPECT_EQ(e.collate.sample, std::chrono::microseconds(3));
  EXPECT_EQ(e.dataset.tensors, 3);
  EXPECT_EQ(e.dataset.numbers, 2);
  EXPECT_EQ(e.device.step->per_sample.Mean(), std::chrono::microseconds(10));
  EXPECT_EQ(e.device.step->threads, 4);
  EXPECT_EQ(e.device.step->one_thread, 2.5);
}

TEST(Settings, AProcessOfWhichNothingIsStatedTakesTheProfilesFigures) {
  const Experiment e = Read("loader: {kind: process, workers: 2}");
  for (const char* key : {"worker_startup", "worker_launch", "send", "receive", "worker_memory", "python_sample"})
    EXPECT_EQ(e.settings.at(std::string("loader.") + key).text, "auto") << key;
  EXPECT_FALSE(e.loader.send || e.loader.receive || e.loader.worker_memory);
  ExpectReadsBack(e);
}

TEST(Settings, WhatOnlyAProcessHasIsAWarningOnThreads) {
  const auto result =
      ReadExperimentText("loader: {workers: 2, send: 1ms, start_method: spawn}", "test.yaml", {},
                         ProjectFolders());
  std::vector<std::string> texts;
  for (const auto& warning : result.warnings) texts.push_back(warning.what);
  EXPECT_THAT(texts, testing::UnorderedElementsAre(
                         "loader.send has no effect on workers that are threads",
                         "loader.start_method has no effect on workers that are threads"));
}

TEST(Settings, AMeasuredStepIsRefusedByARun) {
  const auto read = [](bool for_run) {
    return ReadExperiment({.file = {}, .overrides = {Set("device.step", "2ms"), Set("device.name", "cpu")},
                           .for_run = for_run},
                          ProjectFolders());
  };
  EXPECT_EQ(read(false).experiment.device.step->base.Mean(), std::chrono::milliseconds(2));
  EXPECT_THROW(read(true), base::ConfigError);
}

TEST(Settings, AStepOfAGpuKnowsItsLaunchAndItsCopies) {
  const Experiment e = Read("device: {name: 'cuda:1', step: {base: 2ms, host: 300us, launch: 700us, launch_cpu: 400us, "
                            "with_copies: true}}");
  ExpectReadsBack(e);
  EXPECT_EQ(e.device.step->host, std::chrono::microseconds(300));
  EXPECT_EQ(e.device.step->launch, std::chrono::microseconds(700));
  EXPECT_EQ(e.device.step->launch_cpu, std::chrono::microseconds(400));
  EXPECT_TRUE(e.device.step->with_copies);
  EXPECT_THROW(Read("device: {name: 'cuda:0', step: {base: 2ms, launch: 700us, launch_cpu: 701us}}"), base::ConfigError);
  for (const char* part : {"host: 1ms", "launch: 700us", "launch_cpu: 0us", "with_copies: true"})
    EXPECT_THROW(Read(std::string("device: {name: cpu, step: {base: 2ms, ") + part + "}}"), base::ConfigError) << part;
}

TEST(Settings, ControlCharactersReadBack) {
  ExpectReadsBack(Read("name: \"a\\x1b\\x7f\\r\\n\\tb\""));
}

TEST(Settings, RealFilesReadBackBeforeAndAfterCounting) {
  Experiment experiment = Read("storage: {kind: files, path: '/a b/#1', on_error: skip}");
  ExpectReadsBack(experiment);
  EXPECT_EQ(Read("", AsOverrides(experiment)).storage.path, "/a b/#1");
  SetFromData(experiment, 100, 3, Bytes{999});
  EXPECT_EQ(TextsOf(Read("", AsOverrides(experiment))), TextsOf(experiment));
}

TEST(Settings, EveryKeyAppearsInSomeExperiment) {
  std::set<std::string> seen;
  for (const char* yaml :
       {"loader: {workers: 1, opaque: true}\ndevice: emulated", "storage: {kind: files, path: d}",
        "device: {emulated: {base: 1ms}}\nmodel: {layers: [flatten, linear: {out: "
        "2}]}\ndataset: {samples: 1, shape: [2]}",
        "loader: {kind: process, worker_opening: 1s, share: 0, send: 0, serve: 0, receive: 0, receive_latency: 0, "
        "of_one: {}, of_many: {workers: 4}}\ndevice: {name: cpu, step: {base: 1ms, threads: 2, one_thread: 1.5}}",
        "device: {name: 'cuda:0', step: {base: 1ms, host: 1ms, launch: 1ms, launch_cpu: 1ms, with_copies: true}}"}) {
    for (const auto& [path, setting] : Read(yaml).settings) seen.insert(path);
  }
  // Short forms, and keys of a sweep, which no point has.
  const std::set<std::string> short_forms{"storage", "prepare", "model", "device", "device.step",
                                          "sweep.axes", "sweep.repeats", "sweep.point_limit"};
  for (const Key& key : Keys()) {
    EXPECT_TRUE(seen.contains(std::string(key.path)) || short_forms.contains(std::string(key.path)))
        << key.path;
  }
}

TEST(Settings, EveryKeyIsInTheReferenceWithItsDefault) {
  const std::string reference =
      base::ReadFile(std::filesystem::path(PIPESIM_SOURCE_DIR) / "docs/experiment.md");
  for (const Key& key : Keys()) {
    std::string row = "| `";
    row.append(key.path).append("` | ");
    const std::size_t at = reference.find(row);
    ASSERT_NE(at, std::string::npos) << key.path;
    const std::string line = reference.substr(at, reference.find('\n', at) - at);
    EXPECT_THAT(line, testing::HasSubstr(std::string(" | ").append(key.fallback).append(" | ")))
        << key.path;
  }
}

TEST(Settings, EveryKeyIsKnownToTheReader) {
  // A catalogued key that the reader does not handle would be reported as unknown.
  for (const Key& key : Keys()) {
    for (const auto& problem : ProblemsOf("", {Set(std::string(key.path), "auto")})) {
      EXPECT_THAT(problem.what, testing::Not(testing::HasSubstr("unknown key"))) << key.path;
    }
  }
}

TEST(Settings, APartOfADrawnKeyIsSetBesideItsMean) {
  const std::vector<Override> stdev{Set("loader.worker_startup.distribution", "normal"),
                                    Set("loader.worker_startup.stdev", "1ms")};
  const Experiment e = Read("loader: {workers: 1, worker_startup: 10ms}", stdev);
  ASSERT_TRUE(e.loader.worker_startup);
  EXPECT_EQ(e.loader.worker_startup->Mean(), std::chrono::milliseconds(10));
  EXPECT_FALSE(e.loader.worker_startup->IsFixed());
}

TEST(Settings, WhatHasNoEffectIsAWarning) {
  const auto warnings_of = [](const char* text) {
    std::vector<std::string> texts;
    for (const auto& warning : ReadExperimentText(text, "test.yaml", {}, ProjectFolders()).warnings)
      texts.push_back(warning.what);
    return texts;
  };
  EXPECT_THAT(warnings_of("{device: cpu}"), testing::IsEmpty());
  EXPECT_THAT(warnings_of("{device: {name: cpu, in_flight: 4}}"),
              testing::ElementsAre(
                  "device.in_flight has no effect when training on the CPU, which has one step at a time"));
  EXPECT_THAT(warnings_of("{device: {emulated: {base: 1ms}}, limits: {compute_threads: 2}}"),
              testing::ElementsAre(
                  "limits.compute_threads has no effect on an emulated device, which needs no core"));
  EXPECT_THAT(warnings_of("{device: {emulated: {base: 1ms}}, loader: {pin_bandwidth: 5GB/s}}"),
              testing::ElementsAre("loader.pin_bandwidth has no effect without loader.pin_memory"));
  EXPECT_THAT(warnings_of("{device: {emulated: {base: 1ms}}, loader: {pin_memory: true, pin_bandwidth: 5GB/s}}"),
              testing::IsEmpty());
}

TEST(Settings, AStorageKeyIsRefusedWithEveryKindButItsOwn) {
  for (const Key& key : Keys()) {
    if (!key.path.starts_with("storage.") || key.path.find('.') != key.path.rfind('.')) continue;
    if (key.path == "storage.kind") continue;
    int accepting = 0;
    for (const char* kind : {"none", "emulated", "files"}) {
      const auto problems =
          ProblemsOf("", {Set("storage.kind", kind), Set(std::string(key.path), "auto")});
      accepting += std::none_of(problems.begin(), problems.end(), [&](const auto& problem) {
        return problem.what == std::string(key.path) + " has no effect with kind " + kind;
      });
    }
    EXPECT_EQ(accepting, key.path == "storage.cache" ? 2 : 1) << key.path;
  }
}

rc::Gen<std::string> GenTime() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(1, 10'000'000'000),
                      [](std::int64_t ns) { return std::to_string(ns) + "ns"; });
}

rc::Gen<std::string> GenDrawn() {
  return rc::gen::oneOf(
      GenTime(),
      rc::gen::map(rc::gen::pair(GenTime(), GenTime()),
                   [](const auto& parts) {
                     return "{distribution: gamma, mean: " + parts.first +
                            ", stdev: " + parts.second + "}";
                   }),
      rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(GenTime())),
                   [](const auto& values) {
                     std::string text = "{distribution: empirical, values: [";
                     for (const auto& value : values) text += value + ", ";
                     return text + "]}";
                   }));
}

RC_GTEST_PROP(Settings, RandomExperimentsReadBack, ()) {
  const auto flag = [] { return *rc::gen::element<std::string>("true", "false"); };
  std::vector<Override> overrides{
      Set("loader.workers", std::to_string(*rc::gen::inRange(1, 4097))),
      Set("loader.batch_size", std::to_string(*rc::gen::inRange(1, 10'000))),
      Set("loader.prefetch_factor", std::to_string(*rc::gen::inRange(1, 100))),
      Set("loader.shuffle", flag()),
      Set("loader.in_order", flag()),
      Set("loader.persistent_workers", flag()),
      Set("loader.timeout", *GenTime()),
      Set("loader.dispatch", *rc::gen::element<std::string>("round_robin", "shared")),
      Set("prepare", "{kind: wait, cost: " + *GenDrawn() + "}"),
      Set("storage.latency", *GenDrawn()),
      Set("storage.bandwidth", std::to_string(*rc::gen::inRange(1, 1'000'000)) + "kB/s"),
      Set("dataset.sample_bytes", std::to_string(*rc::gen::inRange(1, 1'000'000'000)) + "B"),
      Set("device.emulated.base", *GenDrawn()),
      Set("device.emulated.per_sample", *GenTime()),
      Set("model", *rc::gen::element<std::string>("mlp", "linear")),
      Set("run.seed", std::to_string(*rc::gen::inRange<std::int64_t>(0, INT64_MAX))),
      Set("run.max_noise", std::to_string(*rc::gen::inRange(1, 10'001) / 100.0) + "%")};
  const Experiment experiment = Read("", overrides);
  RC_ASSERT(TextsOf(Read("", AsOverrides(experiment))) == TextsOf(experiment));
  RC_ASSERT(TextsOf(Read(AsFile(experiment))) == TextsOf(experiment));
}

}  // namespace
}  // namespace pipesim::spec
