// What a prediction rests on, and that it is the same however it is computed.
#include "predict/predict.h"

#include <gmock/gmock.h>
#include <tbb/global_control.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "diagnose/what_if.h"
#include "engine/virtual_time/virtual_executor.h"
#include "experiments.h"

namespace pipesim::predict {
namespace {

using namespace std::chrono_literals;
using cost::Source;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Prediction, AMeasuredStepOfTheCpuIsWhatLimitsItAlone) {
  const auto report = Predict(Read(std::string(kTrainOnly) + "device: cpu\nlimits: {cpus: 2}\n"),
                              FreeMachine(kLinearSteps), nullptr);
  EXPECT_EQ(report.notes.step, Source::kProfile);
  EXPECT_NEAR(*report.measurement.result.samples_per_s, 6400, 1);
  EXPECT_EQ(report.measurement.effective.device, spec::DeviceId::Cpu());
  EXPECT_EQ(report.measurement.effective.compute_threads, 2);
}

TEST(Prediction, AMeasuredStepOfAGpuRunsAsynchronouslyUnderItsName) {
  const auto report =
      Predict(Read(std::string(kTrainOnly) + "device: cuda:0\n"), FreeMachine(kLinearSteps), nullptr);
  EXPECT_NEAR(*report.measurement.result.samples_per_s, 16000, 5);
  EXPECT_EQ(report.measurement.effective.device, spec::DeviceId::Cuda(0));
  EXPECT_TRUE(report.measurement.device);
  EXPECT_EQ(report.notes.step, Source::kProfile);
}

TEST(Prediction, AMeasuredStepOfAGpuAlsoTakesWhatItsKernelsWaitForTheirLaunches) {
  std::string steps = kLinearSteps;
  steps.replace(steps.rfind("time: 4ms"), 9, "time: 4ms, gap: 1ms");
  const auto report =
      Predict(Read(std::string(kTrainOnly) + "device: cuda:0\n"), FreeMachine(steps), nullptr);
  EXPECT_NEAR(*report.measurement.result.samples_per_s, 64 / 0.005, 5);
}

TEST(Prediction, AStatedStepOfARealDeviceReplacesTheProfiles) {
  const auto rate = [](const std::string& device) {
    const auto report =
        Predict(Read(std::string(kTrainOnly) + "limits: {cpus: 2, compute_threads: 2}\n" + device),
                FreeMachine(kLinearSteps), nullptr);
    EXPECT_EQ(report.notes.step, Source::kStated);
    return *report.measurement.result.samples_per_s;
  };
  EXPECT_NEAR(rate("device: {name: cpu, step: 20ms}\n"), 3200, 1);
  EXPECT_NEAR(rate("device: {name: cpu, step: {base: 3600us, per_sample: 100us}}\n"), 6400, 1);
  EXPECT_NEAR(rate("device: {name: \"cuda:0\", step: 2ms}\n"), 32000, 20);
}

// An LRU cache serves what it holds of the epoch before until that has been read: c + (1 - c) ln(1 - c) of the reads.
TEST(Prediction, OfAPartlyCachedDataSetIsOfWholeEpochs) {
  constexpr double kHeld = 0.5, kRead_s = 10e3 / 10e6;
  const std::string yaml =
      "dataset: {samples: 100000, sample_bytes: 10000B, shape: [1], dtype: uint8}\nprepare: none\n"
      "storage: {bandwidth: 10MB/s, cache: {size: 500MB, warm: 1}}\nloader: {batch_size: 10, workers: 4}\n"
      "limits: {cpus: 8}\ndevice: {emulated: {base: 1us}}\n";
  const auto predict = [&](const std::string& run) { return Predict(Read(yaml + run), FreeMachine(""), nullptr); };
  const Prediction automatic = predict("");
  const double missed = 1 - (kHeld + (1 - kHeld) * std::log(1 - kHeld));
  EXPECT_NEAR(*automatic.measurement.result.samples_per_s * kRead_s * missed, 1, 0.02);
  ASSERT_TRUE(automatic.notes.shortened);
  EXPECT_EQ(automatic.notes.shortened->steps, 10'000);
  EXPECT_LT(automatic.notes.shortened->simulated, 1'000);
  EXPECT_EQ(automatic.diagnosis.bottleneck, diagnose::Verdict::kIoBound);
  EXPECT_EQ(automatic.diagnosis.confidence, diagnose::Confidence::kHigh);
  EXPECT_FALSE(predict("run: {steps: 500}\n").notes.shortened) << "as long as it was asked for";
}

// While the windows fill, loading takes two cores; once they are full, training gets its share back.
TEST(Prediction, LastsUntilThreadsThatShareCoresHaveFilledTheirWindows) {
  const auto rate = [](int prefetch_factor) {
    const spec::Experiment experiment = Read(
        "model: resnet50\nstorage: none\nprepare: 650us\nlimits: {cpus: 2}\n"
        "device: {emulated: {preset: h200}}\n"
        "loader: {batch_size: 32, workers: 12, dispatch: shared, prefetch_factor: " +
        std::to_string(prefetch_factor) + "}\n");
    return *Predict(experiment, FreeMachine(""), nullptr).measurement.result.samples_per_s;
  };
  EXPECT_NEAR(rate(16) / rate(4), 1, 0.01);
}

// Any key of storage replaces the storage that a model brings along.
TEST(Prediction, ARowThatChangesTheModelsStorageNamesItsPreset) {
  const auto set_of = [](const std::string& storage) {
    const auto prediction = Predict(
        Read("model: resnet50\nprepare: none\nlimits: {cpus: 16}\nloader: {workers: 0}\n"
             "device: {emulated: {preset: h200}}\n" + storage),
        FreeMachine(""), nullptr);
    const auto& rows = prediction.diagnosis.what_if;
    return rows.at(diagnose::FindRow(rows, "storage x2").value()).set;
  };
  using testing::Contains, testing::Key, testing::Pair, testing::Not;
  EXPECT_THAT(set_of(""), Contains(Pair("storage.preset", "sata-ssd")));
  EXPECT_THAT(set_of("storage: sata-ssd\n"), Not(Contains(Key("storage.preset"))));
}

// The disk makes 86.2 samples/s, the device 88.4: sixteen batches of stock hide that for minutes.
TEST(Prediction, LastsUntilTrainingNoLongerLivesOnTheStartsStock) {
  const auto prediction = Predict(
      Read("dataset: {samples: 1M}\nstorage: {latency: 11.6ms, queue_depth: 1}\nprepare: none\n"
           "device: {emulated: {base: 90.5ms}}\n"
           "loader: {batch_size: 8, workers: 16, prefetch_factor: 1}\n"),
      FreeMachine(), nullptr);
  EXPECT_NEAR(*prediction.measurement.result.samples_per_s, 1 / 11.6e-3, 0.5);
}

TEST(Prediction, AMeasuredStepIsKnownOnFewerThreads) {
  const auto rate = [](const std::string& step, int threads) {
    const auto report = Predict(
        Read("model: linear\ndataset: {samples: 6400, shape: [8]}\nstorage: none\nprepare: none\n"
             "run: {steps: 200}\nlimits: {cpus: 8, compute_threads: " + std::to_string(threads) +
             "}\ndevice: {name: cpu, step: {base: 4ms, per_sample: 50us" + step + "}}\n"),
        FreeMachine(), nullptr);
    return *report.measurement.result.samples_per_s;
  };
  const auto near = [](double batch_s) { return testing::DoubleNear(64 / batch_s, 0.01 * 64 / batch_s); };
  // A batch of 64 takes 7.2 ms.
  EXPECT_THAT(rate("", 4), near(7.2e-3));
  EXPECT_THAT(rate(", threads: 4", 1), near(4 * 7.2e-3)) << "at most four times as long";
  EXPECT_THAT(rate(", threads: 4, one_thread: 1.5", 1), near(1.5 * 7.2e-3));
  EXPECT_THAT(rate(", threads: 4, one_thread: 1.5", 2), near(1.5 * 7.2e-3)) << "no longer than one";
  EXPECT_THAT(rate(", threads: 4, one_thread: 0.1", 1), near(0.1 * 7.2e-3)) << "others had taken its cores";
  EXPECT_THAT(rate(", threads: 4, one_thread: 1.5", 4), near(7.2e-3));
  EXPECT_THAT(rate(", threads: 4, one_thread: 1.5", 8), near(7.2e-3)) << "more gain nothing";
}

TEST(Prediction, AStatedStepMeetsAtTheBarriersOfItsModel) {
  const auto barriers = [](const std::string& model, int threads) {
    return Resolve(Read("model: " + model + "\nstorage: none\nprepare: none\nrun: {steps: 50}\nlimits: {cpus: 8}\n"
                        "device: {name: cpu, step: {base: 4ms, threads: " + std::to_string(threads) + "}}\n"),
                   FreeMachine()).pipeline.step.barriers;
  };
  EXPECT_GT(barriers("resnet18", 4), 2 * barriers("mlp", 4));
  EXPECT_GT(barriers("mlp", 4), 5);
}

TEST(Prediction, AnEstimatedStepIsKnownOnFewerThreads) {
  const Basis basis = FreeMachine("figures:\n  fp32_gflops: {value: 50, how: m}\n  fp32_gflops_all_cores: {value: 100, how: m}\n"
                                  "  memory_bandwidth: {value: 10GB/s, how: m}\n");
  const auto on = [&](int threads) {
    return Read("model: cnn\nstorage: none\nprepare: none\nloader: {batch_size: 64}\nrun: {steps: 50}\n"
                "device: cpu\nlimits: {cpus: 8, compute_threads: " + std::to_string(threads) + "}\n");
  };
  const cost::Step all = Resolve(on(8), basis).pipeline.step;
  for (const int threads : {1, 4, 7})
    EXPECT_EQ(all.MeanOn(64, threads), Resolve(on(threads), basis).pipeline.step.Mean(64)) << threads;
}

TEST(Prediction, APinThreadCopiesAsFastAsStated) {
  const auto rate = [](const std::string& loader) {
    const auto report = Predict(
        Read("model: linear\ndataset: {samples: 6400, shape: [1000000], dtype: uint8}\nstorage: none\nprepare: none\n"
             "loader: {workers: 4, batch_size: 64, pin_memory: true" + loader + "}\nrun: {steps: 200}\n"
             "limits: {cpus: 8}\ndevice: {name: 'cuda:0', step: {base: 4ms, with_copies: true}}\n"),
        FreeMachine("figures:\n  pin_bandwidth: {value: 8GB/s, how: m}\n"), nullptr);
    return *report.measurement.result.samples_per_s;
  };
  // 64 MB a batch; an epoch of 100 batches ends with the steps of the last.
  EXPECT_NEAR(64 / rate(""), 8e-3, 0.4e-3);
  EXPECT_NEAR(64 / rate(", pin_bandwidth: 4GB/s"), 16e-3, 0.8e-3);
  EXPECT_NEAR(64 / rate(", pin_bandwidth: 64GB/s"), 4e-3, 0.2e-3) << "the step limits";
}

// The host launches a step while the GPU computes the one before, and makes no batch meanwhile.
TEST(Prediction, AMeasuredStepOfAGpuTakesTheHostsTimeToLaunchIt) {
  const auto rate = [](const std::string& step, const std::string& more = "") {
    const auto report = Predict(
        Read("model: {name: linear" + more + "}\ndataset: {samples: 6400, shape: [1000000], dtype: uint8}\n" +
             "storage: none\nprepare: 50us\nloader: {workers: 0, batch_size: 64}\nrun: {steps: 200}\n" +
             "limits: {cpus: 8}\ndevice: {name: 'cuda:0', step: {base: 4ms" + step + "}}\n"),
        FreeMachine("figures:\n  h2d_bandwidth: {value: 10GB/s, how: m}\n"), nullptr);
    return *report.measurement.result.samples_per_s;
  };
  const auto near = [](double batch_s) { return testing::DoubleNear(64 / batch_s, 0.01 * 64 / batch_s); };
  // Loading takes 3.2 ms a batch, copying 64 MB 6.4.
  EXPECT_THAT(rate(", with_copies: true"), near(4e-3));
  EXPECT_THAT(rate(", launch: 3ms, with_copies: true"), near(6.2e-3));
  EXPECT_THAT(rate(", launch: 5ms, with_copies: true"), near(8.2e-3)) << "launching limits";
  EXPECT_THAT(rate(", launch: 3ms, with_copies: true", ", sync_every: 1"), near(7.2e-3)) << "the host waits, too";
  EXPECT_GT(64 / rate(", launch: 3ms"), 6.35e-3) << "and copies";
  EXPECT_THAT(rate(", host: 1ms, launch: 3ms, with_copies: true", ", sync_every: 1"), near(8.2e-3))
      << "what comes before the launch is no time of the GPU";
}

constexpr const char* kProcesses =
    "model: linear\ndataset: {samples: 6400, shape: [8], sample_bytes: 8B, classes: 2}\n"
    "storage: none\nprepare: 100us\nrun: {steps: 200}\nlimits: {cpus: 8}\n"
    "device: {emulated: {base: 1us}}\n";

TEST(Prediction, WorkerProcessesCostWhatTheProfileSays) {
  const Basis basis = FreeMachine(
      "figures:\n  process_send_batch: {value: 1600us, how: m}\n"
      "  process_receive_tensor: {value: 2ms, how: m}\n");
  const auto rate = [&](const std::string& loader) {
    const auto report = Predict(Read(kProcesses + loader), basis, nullptr);
    EXPECT_TRUE(report.measurement.warnings.empty());
    return *report.measurement.result.samples_per_s;
  };
  // Batches of 64: 6.4 ms to prepare, 1.6 ms to send; 4 ms to receive two tensors. Each epoch of 100
  // loses the filling of its pipeline.
  const auto near = [](double batch_s) {
    return testing::DoubleNear(64 / batch_s, 0.02 * 64 / batch_s);
  };
  EXPECT_THAT(rate("loader: {kind: process, workers: 1, persistent_workers: true}"), near(8e-3));
  EXPECT_THAT(rate("loader: {kind: process, workers: 4, persistent_workers: true}"), near(4e-3));
  EXPECT_THAT(rate("loader: {kind: process, workers: 4, persistent_workers: true, receive: 3ms}"),
              near(3e-3));
  EXPECT_THAT(rate("loader: {kind: process}"), near(6.4e-3));
}

TEST(Prediction, AProfileWithoutWorkerProcessesIsAWarning) {
  const auto codes = [](const std::string& loader) {
    std::vector<std::string> found;
    for (const auto& warning : Resolve(Read(kProcesses + loader), FreeMachine()).warnings)
      found.push_back(warning.code);
    return found;
  };
  EXPECT_THAT(codes("loader: {kind: process, workers: 2}"), ElementsAre("processes-unknown"));
  EXPECT_THAT(codes("loader: {kind: process, workers: 2, send: 1ms, receive: 1ms}"), ElementsAre());
  EXPECT_THAT(codes("loader: {kind: process}"), ElementsAre());
}

TEST(Prediction, AutoIsTheGpuThatTheProfileKnowsElseTheCpu) {
  const auto experiment = Read(std::string(kTrainOnly) + "limits: {compute_threads: 2}\n");
  EXPECT_EQ(Resolve(experiment, FreeMachine(kLinearSteps)).device.kind, spec::DeviceKind::kCuda);
  const Basis no_gpu = FreeMachine(
      "steps: [{model: linear, shape: [8], device: cpu, threads: 2, batch: 64, time: 1ms, how: m}]");
  EXPECT_EQ(Resolve(experiment, no_gpu).device.kind, spec::DeviceKind::kCpu);
}

TEST(Prediction, CoresAreTheStatedOnesThenTheNamedProfilesThenThisMachines) {
  Basis basis = FreeMachine(kLinearSteps);
  const auto open = Read(std::string(kTrainOnly) + "device: rtx-4060\n");
  const auto stated = Read(std::string(kTrainOnly) + "device: rtx-4060\nlimits: {cpus: 32}\n");
  EXPECT_EQ(Resolve(open, basis).notes.cores, 3);
  EXPECT_EQ(Resolve(open, basis).notes.cores_from, "this machine");
  basis.profile_is_named = true;
  EXPECT_EQ(Resolve(open, basis).notes.cores, 8);
  EXPECT_EQ(Resolve(stated, basis).notes.cores, 32);
  EXPECT_EQ(Resolve(stated, basis).notes.cores_from, "limits.cpus");
}

TEST(Prediction, WithoutAMeasuredStepTheCpuIsEstimatedAndSaysSo) {
  const Basis basis = FreeMachine(
      "figures:\n  fp32_gflops: {value: 50, how: m}\n  memory_bandwidth: {value: 10GB/s, how: m}\n");
  const auto report =
      Predict(Read(std::string(kTrainOnly) + "device: cpu\nlimits: {cpus: 2}\n"), basis, nullptr);
  EXPECT_EQ(report.notes.step, Source::kEstimated);
  ASSERT_FALSE(report.measurement.warnings.empty());
  EXPECT_EQ(report.measurement.warnings.back().code, "step-estimated");
}

TEST(Prediction, ABatchBeyondTheMeasuredOnesIsAWarning) {
  const std::string yaml = std::string(kTrainOnly) + "device: cpu\nlimits: {cpus: 2}\n";
  const Basis basis = FreeMachine(kLinearSteps);
  EXPECT_TRUE(Resolve(Read(yaml), basis).warnings.empty());
  const auto larger = Resolve(Read(yaml + "loader: {batch_size: 128}\n"), basis);
  ASSERT_EQ(larger.warnings.size(), 1u);
  EXPECT_EQ(larger.warnings[0].code, "step-extrapolated");
  EXPECT_THAT(larger.warnings[0].text, HasSubstr("64 samples"));
}

constexpr const char* kTwoThreadsOfEachWait =
    "steps:\n"
    "  - {model: linear, shape: [8], device: cpu, threads: 1, batch: 64, time: 12ms, how: m}\n"
    "  - {model: linear, shape: [8], device: cpu, threads: 2, batch: 64, time: 10ms, how: m}\n"
    "  - {model: linear, shape: [8], device: cpu, threads: 2, omp_wait: passive, batch: 64, "
    "time: 16ms, how: m}\n";

TEST(Prediction, ThreadsThatSleepWhileTheyWaitHaveStepsOfTheirOwn) {
  const std::string yaml = std::string(kTrainOnly) + "device: cpu\n";
  const auto rate = [&](const char* limits) {
    const Basis basis = FreeMachine(kTwoThreadsOfEachWait);
    return *Predict(Read(yaml + limits), basis, nullptr).measurement.result.samples_per_s;
  };
  EXPECT_NEAR(rate("limits: {cpus: 2}\n"), 6400, 1);
  EXPECT_NEAR(rate("limits: {cpus: 2, omp_wait: passive}\n"), 4000, 1);
  EXPECT_NEAR(rate("limits: {cpus: 2, compute_threads: 1, omp_wait: passive}\n"), 64 / 0.012, 1);
}

TEST(Prediction, StepsOfTheOtherWaitServeWithAWarning) {
  const auto costs =
      Resolve(Read(std::string(kTrainOnly) +
                   "device: cpu\nlimits: {compute_threads: 2, omp_wait: passive}\n"),
              FreeMachine(kLinearSteps));
  ASSERT_EQ(costs.warnings.size(), 1u);
  EXPECT_EQ(costs.warnings[0].code, "step-other-wait");
}

TEST(Prediction, ThreadsTooManyForTheCoresAreContentionInVirtualTimeToo) {
  // Two threads that sleep while they wait bring nothing: alone 16 ms, on one thread 12.
  const auto report = Predict(
      Read("model: linear\ndataset: {samples: 64000, shape: [8], sample_bytes: 8B, classes: 2}\n"
           "storage: none\nprepare: {kind: burn, cost: 300us}\nrun: {steps: 400}\n"
           "loader: {workers: 4}\ndevice: cpu\nlimits: {cpus: 2, omp_wait: passive}\n"),
      FreeMachine(kTwoThreadsOfEachWait), nullptr);
  EXPECT_EQ(diagnose::ToText(report.diagnosis.bottleneck), "cpu-contention");
  ASSERT_TRUE(report.diagnosis.recommendation);
  EXPECT_THAT(report.diagnosis.recommendation->set,
              testing::Contains(testing::Pair("limits.compute_threads", "1")));
}

TEST(Prediction, AStepWithoutACostIsRefusedWithTheRemedy) {
  for (const char* device : {"cuda:1", "cpu"}) {
    try {
      Predict(Read(std::string(kTrainOnly) + "device: " + device), FreeMachine(), nullptr);
      FAIL() << device;
    } catch (const base::ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("has no cost: profile test-profile.yaml"));
      EXPECT_THAT(error.problems()[0].suggestion, HasSubstr("--device rtx-4060")) << device;
    }
  }
}

TEST(Prediction, WhatADeviceCannotHoldEndsInOutOfMemoryBeforeItBegins) {
  const auto report = Predict(
      Read("model: resnet50\ndevice: rtx-4060\nloader: {batch_size: 4096}\n"), FreeMachine(), nullptr);
  EXPECT_EQ(report.measurement.result.stopped_by, trace::EndReason::kOutOfMemory);
  EXPECT_THAT(report.measurement.failure, HasSubstr("activations ("));
  EXPECT_THAT(report.measurement.failure, HasSubstr("8.6 GB are free by device rtx-4060"));
  EXPECT_THAT(report.measurement.failure, HasSubstr("would fit"));
}

TEST(Prediction, WhatTheHostCannotHoldEndsInOutOfMemoryToo) {
  Basis basis = FreeMachine();
  basis.memory_here = {{.name = "this machine", .free = {1'000'000}}};
  const auto report = Predict(Read("model: mlp\ndevice: rtx-4060\nloader: {workers: 4}\n"), basis,
                              nullptr);
  EXPECT_EQ(report.measurement.result.stopped_by, trace::EndReason::kOutOfMemory);
  EXPECT_THAT(report.measurement.failure, HasSubstr("are free by this machine"));
}

TEST(Predict, IsTheSameOnAnyNumberOfThreads) {
  const auto experiment = Read(
      "device: {emulated: {base: {distribution: gamma, mean: 2ms, stdev: 1ms}}}\n"
      "prepare: {kind: burn, cost: {distribution: lognormal, mean: 100us, stdev: 80us}}\n"
      "run: {steps: 300, repeats: 5}\nlimits: {cpus: 2}\nloader: {workers: 3}\n");
  const Basis basis = FreeMachine("figures: {collate_bandwidth: {value: 5GB/s, how: m}}\n");
  const auto rates = [&](std::size_t threads) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, threads);
    const Prediction prediction = Predict(experiment, basis, nullptr);
    std::vector<double> all;
    for (const auto& repeat : prediction.repeats) all.push_back(*repeat.samples_per_s);
    for (const auto& row : prediction.diagnosis.what_if) all.push_back(row.samples_per_s);
    return all;
  };
  const std::vector<double> alone = rates(1);
  EXPECT_EQ(rates(2), alone);
  EXPECT_EQ(rates(8), alone);
}

TEST(Predict, EachRepeatDrawsWithASeedOfItsOwn) {
  const auto experiment = Read(
      "device: {emulated: {base: {distribution: gamma, mean: 2ms, stdev: 1ms}}}\n"
      "prepare: none\nstorage: none\nrun: {steps: 100, repeats: 3}\n");
  const auto report = Predict(experiment, FreeMachine(), nullptr);
  ASSERT_EQ(report.repeats.size(), 3u);
  EXPECT_LT(*report.repeats[0].samples_per_s, *report.repeats[1].samples_per_s);
  EXPECT_LT(*report.repeats[1].samples_per_s, *report.repeats[2].samples_per_s);
  EXPECT_EQ(report.measurement.result.samples_per_s, report.repeats[1].samples_per_s);
}

/// L = λ W: those in a stage are the rate at which it is left times the mean stay.
void ExpectLittlesLaw(const trace::RunTrace& trace, trace::Role role, trace::State state,
                      trace::Series series, double unfinished) {
  double stay_s = 0;
  const auto& kept = trace.series[static_cast<std::size_t>(series)].kept;
  ASSERT_GE(kept.size(), static_cast<std::size_t>(trace.steps));  // every one, not a sample
  for (const auto& one : kept) stay_s += one.value * 1e-9 / static_cast<double>(kept.size());
  const double wall_s = base::ToSeconds(trace.end - trace.begin);
  const double inside =
      base::ToSeconds(trace::TimeIn(trace, role, state, trace.begin, trace.end)) / wall_s;
  const double by_law = static_cast<double>(kept.size()) / wall_s * stay_s;
  EXPECT_NEAR(inside, by_law, 1e-6 + unfinished * inside) << static_cast<int>(series);
}

TEST(Prediction, KeepsLittlesLawInEveryShippedExperiment) {
  constexpr int kSteps = 4000;
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(PIPESIM_SOURCE_DIR) / "configs/experiments")) {
    SCOPED_TRACE(file.path());
    std::stringstream yaml;
    yaml << std::ifstream(file.path()).rdbuf();
    const auto experiment = Read(yaml.str(), {{"run.steps", std::to_string(kSteps), "--steps"},
                                              {"run.warmup", "0", "--set"},
                                              {"run.accelerators", "1", "--accelerators"}});
    Basis basis;
    basis.profile = spec::ReadMachineProfile("default", "--profile", kFolders);
    basis.cores_here = 8;
    const trace::RunTrace trace = engine::MakeVirtualExecutor()->Run(
        experiment, Resolve(experiment, basis).pipeline, {});
    ASSERT_EQ(trace.steps, kSteps);
    // Batches that are begun and never trained are at most the window.
    const double unfinished = 1.01 * static_cast<double>(experiment.loader.Window()) / kSteps;
    using trace::Role, trace::Series, trace::State;
    ExpectLittlesLaw(trace, Role::kWorker, State::kRead, Series::kReadTime, unfinished);
    ExpectLittlesLaw(trace, Role::kWorker, State::kPrepare, Series::kPrepareTime, unfinished);
    ExpectLittlesLaw(trace, Role::kDevice, State::kBusy, Series::kDeviceStep, 1.0 / kSteps);
    ExpectLittlesLaw(trace, Role::kConsumer, State::kStarved, Series::kStarved, 1.0 / kSteps);
    ++count;
  }
  EXPECT_GE(count, 6);
}

}  // namespace
}  // namespace pipesim::predict
