// Changes run in virtual time: the run as it was, demands made free, settings that bounds cannot
// see.
#include "predict/virtual_predictor.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "diagnose/demands.h"
#include "diagnose/what_if.h"
#include "predict/predict.h"
#include "spec/machine_profile.h"
#include "spec/presets.h"
#include "spec/read.h"

namespace pipesim::predict {
namespace {

using diagnose::Variant;

const spec::DataFolders kProjectFolders{{std::filesystem::path(PIPESIM_SOURCE_DIR)}};

/// An experiment, answered, and the predictor of changes to it.
struct Case {
  explicit Case(const std::string& yaml)
      : experiment(spec::ReadExperimentText(yaml, "test.yaml", {}, kProjectFolders).experiment) {
    basis.profile = spec::ReadMachineProfileText("context: {cores: 64}\n", "p.yaml");
    basis.cores_here = 64;
    report = Predict(experiment, basis, nullptr);
    const cost::Pipeline pipeline = Resolve(experiment, basis).pipeline;
    now = diagnose::VariantOf(experiment, pipeline, report.measurement);
    predict = PredictInVirtualTime(experiment, pipeline, report.measurement, nullptr);
  }
  double rate() const { return *report.measurement.result.samples_per_s; }

  spec::Experiment experiment;
  Basis basis;
  Prediction report;
  Variant now;
  diagnose::Predictor predict;
};

// 32 samples of 1 ms each a batch: 32 ms a worker; steps of 20 ms: 1.6 workers' worth.
constexpr const char* kTwoWorkers =
    "storage: none\nprepare: {kind: wait, cost: 1ms}\nloader: {workers: 1, batch_size: 32}\n"
    "device: {emulated: {base: 20ms}}\nrun: {steps: 400}\n";

TEST(VirtualPredictor, TheRunAsItWasHasItsOwnRate) {
  const Case c(kTwoWorkers);
  EXPECT_NEAR(c.rate(), 1000, 1);
  EXPECT_NEAR(c.predict(c.now) / c.rate(), 1, 0.001);
}

TEST(VirtualPredictor, WorkersAndDemandsChangeTheRateAsTheyMust) {
  const Case c(kTwoWorkers);
  Variant two = c.now;
  two.settings.loader.workers = 2;
  EXPECT_NEAR(c.predict(two), 1600, 2);  // the step limits
  Variant faster = c.now;
  faster.pipeline.prepare = faster.pipeline.prepare.Scaled(0.25);
  EXPECT_NEAR(c.predict(faster), 1600, 2);
  EXPECT_NEAR(c.predict(diagnose::Free(two, diagnose::Demand::kStep)), 2000, 2);
  EXPECT_NEAR(c.predict(diagnose::Scaled(two, diagnose::Demand::kStep, 0.5)), 2000, 2);
}

// A real run at 0.9 times what its model says: where there is no time left for a change, bounds
// that say that it changes nothing are no gain and no loss of 10 %.
TEST(VirtualPredictor, BoundsAnswerForChangesOfTheModelsRun) {
  const Case c(kTwoWorkers);
  measure::Measurement slower = c.report.measurement;
  *slower.result.samples_per_s *= 0.9;
  const cost::Pipeline pipeline = Resolve(c.experiment, c.basis).pipeline;
  base::StopFlag stop;
  const auto predict = PredictInVirtualTime(c.experiment, pipeline, slower, &stop);
  const double now = predict(c.now);
  stop.Set();
  Variant deeper = c.now;
  deeper.settings.loader.prefetch_factor *= 2;
  EXPECT_NEAR(predict(deeper) / now, 1, 1e-9);
}

TEST(VirtualPredictor, RunsEveryAcceleratorOfAChange) {
  // Three on a storage of 2500 samples/s for all, each good for 1000: twice its speed suffices.
  const Case c(
      "storage: {bandwidth: 25MB/s}\ndataset: {sample_bytes: 10kB}\nprepare: none\n"
      "loader: {workers: 2, batch_size: 20}\ndevice: {emulated: {base: 20ms}}\n"
      "run: {steps: 400, accelerators: 3}\n");
  EXPECT_NEAR(c.rate(), 2500, 15);
  EXPECT_NEAR(c.predict(c.now) / c.rate(), 1, 0.01);
  EXPECT_NEAR(c.predict(diagnose::Scaled(c.now, diagnose::Demand::kStorage, 0.5)), 3000, 15);
  EXPECT_EQ(c.report.diagnosis.bottleneck, diagnose::Verdict::kIoBound);
  EXPECT_EQ(c.report.diagnosis.headline.find("storage limits training on 3 accelerators"), 0u);
}

TEST(VirtualPredictor, ALargerBatchTakesWhatItsCostsSay) {
  const Case c(kTwoWorkers);
  Variant larger = c.now;
  larger.settings.loader.workers = 4;
  larger.settings.loader.batch_size *= 2;  // 64 ms a batch over 4 workers, a step of 20 ms
  EXPECT_NEAR(c.predict(larger), 64 / 0.020, 5);
}

TEST(VirtualPredictor, SeesWhatOtherProgramsCostAPoolThatSpins) {
  // Two threads on two cores, one of which another program holds: 17 barriers of two slices each.
  // Measured beside such a program: 20 times slower, with one thread or threads that sleep 2 times.
  Case c(
      "storage: none\nprepare: {kind: burn, cost: 1us}\nloader: {workers: 1, batch_size: 32}\n"
      "device: {emulated: {base: 20ms}}\nrun: {steps: 400}\n");
  c.now.pipeline.step = {};
  c.now.pipeline.step.cost =
      cost::StepTable(std::vector<spec::StepPoint>{{32, std::chrono::milliseconds(4)}});
  c.now.pipeline.step.threads = 2;
  c.now.pipeline.step.barriers = 17;
  c.now.pipeline.machine = {.cores = 2,
                            .others = {.wanted = 1, .held = 1},
                            .pool_spin = std::chrono::milliseconds(5),
                            .barrier_slice = std::chrono::milliseconds(4)};
  const double now = c.predict(c.now);
  EXPECT_NEAR(now, 32 / 0.136, 5);
  Variant one = c.now, passive = c.now, alone = c.now;
  one.settings.limits.compute_threads = 1;
  passive.settings.limits.omp_wait = spec::OmpWait::kPassive;
  alone.pipeline.machine.others = {};
  EXPECT_NEAR(c.predict(one), 32 / 0.008, 40);
  EXPECT_NEAR(c.predict(passive), 32 / 0.008, 40);
  EXPECT_NEAR(c.predict(alone), 32 / 0.004, 80);
}

// A disk limits, so that the run is exact after 200 steps. Without it 32 workers wait
// for the slowest of drawn costs, and windows of 64 batches are few in 500 steps.
TEST(VirtualPredictor, ADrawnCostThatTheChangeUncoversTakesMoreSteps) {
  const auto case_of = [](const std::string& more, int seed) {
    return Case(
        "dataset: {samples: 10M}\nprepare: {kind: burn, cost: {distribution: lognormal, mean: 2ms, "
        "stdev: 2.3ms}}\ndevice: {emulated: {base: 1us}}\n" +
        more + "seed: " + std::to_string(seed) + "}\n");
  };
  for (int seed = 1; seed <= 2; ++seed) {
    const Case with_disk = case_of(
        "storage: {latency: 11ms, queue_depth: 1}\nloader: {workers: 32, batch_size: 4}\nrun: {",
        seed);
    const double promised =
        with_disk.predict(diagnose::Free(with_disk.now, diagnose::Demand::kStorage));
    const Case without =
        case_of("storage: none\nloader: {workers: 32, batch_size: 4}\nrun: {steps: 20000, ", seed);
    EXPECT_NEAR(promised / without.rate(), 1, 0.04) << seed;
  }
}

TEST(VirtualPredictor, WhereBoundsKnowNoLimitThereIsNone) {
  const Case c(kTwoWorkers);
  EXPECT_TRUE(
      std::isinf(c.predict(diagnose::Free(diagnose::FreeData(c.now), diagnose::Demand::kStep))));
}

TEST(VirtualPredictor, StockOfTheStartIsNoGain) {
  // 8.3 of 100 reads/s wait in each of 4 readers: the disk limits whatever the number of workers,
  // although each batch that was read ahead leaves the queue at the device's rate.
  const Case c(
      "storage: {latency: 11.56ms, iops: 86.5, queue_depth: 1}\ndataset: {sample_bytes: 110KiB}\n"
      "prepare: none\nloader: {workers: 16, batch_size: 64}\n"
      "device: {emulated: {base: 20ms}}\nrun: {steps: 100}\n");
  for (const int workers : {1, 16, 33, 64}) {
    Variant v = c.now;
    v.settings.loader.workers = workers;
    EXPECT_NEAR(c.predict(v) / 86.5, 1, 0.01) << workers;
  }
}

TEST(VirtualPredictor, AStockThatStillGrowsDoesNotRaiseTheRateAboveTheDevices) {
  // Three workers wait 89 ms for a batch and so load 33.7 batches/s for a device that does 20.3:
  // after 2 s the window of 24 is not yet full.
  const Case c(
      "storage: none\nprepare: {kind: wait, cost: 890us}\n"
      "loader: {workers: 3, batch_size: 100, prefetch_factor: 8}\n"
      "device: {emulated: {base: 49.3ms}}\nrun: {steps: 40}\n");
  EXPECT_NEAR(c.predict(c.now) * 49.3e-3 / 100, 1, 0.01);
  EXPECT_NEAR(c.rate() * 49.3e-3 / 100, 1, 0.01);
}

TEST(VirtualPredictor, StepsThatAreOnlySubmittedAreNotTrainedOn) {
  // Twelve workers wait 3.2 s for a batch: of 2 s more than the start is never seen, and what the
  // device has in flight at the end is more than half of its steps.
  const Case c(
      "storage: none\nprepare: {kind: wait, cost: 100ms}\nloader: {workers: 12, batch_size: 32}\n"
      "device: {emulated: {base: 300ms}}\nrun: {duration: 2s}\n");
  EXPECT_LT(c.report.measurement.result.steps, 4);
  EXPECT_NEAR(c.rate() * 0.3 / 32, 1, 0.02);
}

TEST(VirtualPredictor, AShortRunWhoseWorkersWaitForRoomIsNotMeasuredFromItsBegin) {
  // Sixteen workers wait 1.6 s for a batch and have filled the window after 3.2 s; a step takes 2
  // s. Of fewer steps than workers the rate is the device's, whether or not the last ones are in
  // flight.
  for (const char* steps : {"3", "4", "9", "15"}) {
    const Case c(
        "storage: none\nprepare: {kind: wait, cost: 100ms}\nloader: {workers: 16, batch_size: 16}\n"
        "device: {emulated: {base: 2s}}\nrun: {steps: " +
        std::string(steps) + "}\n");
    EXPECT_NEAR(c.rate() * 2 / 16, 1, 0.02) << steps;
  }
}

TEST(VirtualPredictor, AStockThatIsUsedUpIsNotFullBecauseWorkersWaitForTheirTurn) {
  // Twelve workers make a batch in 2 s and wait until it is taken: of all within 0.1 s of 8 ms a
  // step, of the first ones within as much of 70 ms.
  for (const char* step : {"8ms", "70ms"}) {
    const Case c(
        "storage: none\nprepare: {kind: wait, cost: 125ms}\n"
        "loader: {workers: 12, batch_size: 16, prefetch_factor: 1}\n"
        "device: {emulated: {base: " +
        std::string(step) + "}}\nrun: {duration: 2s}\n");
    EXPECT_NEAR(c.rate() / (12 * 16 / 2.0), 1, 0.06) << step;  // 2 s and the steps
  }
}

Basis DefaultBasis() {
  Basis basis;
  basis.profile = spec::ReadMachineProfile("default", "--profile", kProjectFolders);
  basis.presets = spec::ReadPresets(kProjectFolders);
  return basis;
}

TEST(VirtualPredictor, ADeviceWithoutAFreeMomentGivesItsOwnRateHoweverMuchIsInFlight) {
  // The host launches a step in 94 % of its time, so that the second step in flight comes late.
  const auto experiment =
      spec::ReadExperimentText(
          "storage: none\nprepare: {kind: wait, cost: 10us}\nlimits: {cpus: 64}\n"
          "loader: {workers: 8, batch_size: 94, in_order: false}\n"
          "model: cnn\ndevice: rtx-4060\nrun: {steps: 60}\n",
          "test.yaml", {}, kProjectFolders)
          .experiment;
  const Prediction prediction = Predict(experiment, DefaultBasis(), nullptr);
  const auto& demands = prediction.measurement.demands;
  EXPECT_NEAR(*prediction.measurement.result.samples_per_s * *demands.step_s / 94, 1, 0.001);
}

TEST(VirtualPredictor, GoesOnUntilTheWorkersAreNoLongerInStep) {
  // Twelve workers begin together on eight cores, all reading, then all preparing; it takes
  // thousands of steps until some read while others prepare, and the rate is 4 % higher.
  const spec::Experiment experiment =
      spec::ReadExperimentText(
          "model: mlp\nstorage: sata-ssd\nprepare: {kind: burn, cost: 98201ns}\nlimits: {cpus: 8}\n"
          "loader: {workers: 12, batch_size: 32}\ndevice: h100\ntransfer: {overlap: false}\n",
          "test.yaml", {}, kProjectFolders)
          .experiment;
  const Basis basis = DefaultBasis();
  const Prediction run = PredictRates(experiment, basis, nullptr);
  const cost::Pipeline pipeline = Resolve(experiment, basis).pipeline;
  const auto predict = PredictInVirtualTime(experiment, pipeline, run.measurement, nullptr);
  EXPECT_NEAR(
      predict(diagnose::VariantOf(experiment, pipeline)) / *run.measurement.result.samples_per_s, 1,
      0.01);
}

TEST(VirtualPredictor, AnswersTheLastRowsOfALargePipelineAsItAnswersTheFirst) {
  // Two threads train beside 64 workers on two cores. The bounds leave out what loading costs the
  // pool, so that rows answered by them would be that much too low.
  const auto large = [](const std::string& device) {
    return spec::ReadExperimentText(
               "model: resnet18\nstorage: sata-ssd\ndevice: " + device +
                   "\nlimits: {cpus: 2, compute_threads: 2}\nloader: {workers: 64, batch_size: 64, "
                   "prefetch_factor: 4, in_order: false, persistent_workers: true}\n",
               "test.yaml", {}, kProjectFolders)
        .experiment;
  };
  const Basis basis = DefaultBasis();
  const Prediction now = Predict(large("cpu"), basis, nullptr);
  const auto row = diagnose::FindRow(now.diagnosis.what_if, "device to a100");
  ASSERT_TRUE(row);
  const Prediction alone = PredictRates(large("a100"), basis, nullptr);
  EXPECT_NEAR(now.diagnosis.what_if[*row].samples_per_s / *alone.measurement.result.samples_per_s,
              1, 0.02);
}

// 16,384 waits of 5 ms a batch, on so few cores that each is an event: after some twenty changes no time is left.
// Eight batches an epoch keep eight workers busy, and a change of nothing gains nothing.
TEST(VirtualPredictor, AnEpochOfFewBatchesHasNoWorkForMoreWorkersWhateverIsAskedBefore) {
  const Case c("dataset: {samples: 131072, sample_bytes: 1B, shape: [1], dtype: uint8}\nstorage: none\n"
               "prepare: {kind: wait, cost: 5ms}\nloader: {workers: 8, batch_size: 16384}\nlimits: {cpus: 2}\n"
               "device: {emulated: {base: 1ms}}\n");
  for (int asked = 1; asked <= 25; ++asked) {
    Variant variant = c.now;
    variant.pipeline.step.cost = cost::StatedStep{
        .base = {base::Distribution::Fixed(1e6 + asked)}, .per_sample = {}};
    EXPECT_NEAR(c.predict(variant) / c.rate(), 1, 0.005) << asked;
  }
  for (const auto& [workers, gain] : {std::pair(16, 1.0), {127, 1.0}, {7, 0.5}, {4, 0.5}, {3, 1.0 / 3}}) {
    Variant variant = c.now;
    variant.settings.loader.workers = workers;
    EXPECT_NEAR(c.predict(variant) / c.rate(), gain, 0.005) << workers;
  }
}

TEST(VirtualPredictor, SeesWhatBoundsOnMeansCannot) {
  // Balanced exponential stages: deeper prefetch evens them out, means stay as they are.
  const Case c(
      "storage: none\nprepare: {kind: wait, cost: {distribution: exponential, mean: 10ms}}\n"
      "loader: {workers: 1, batch_size: 1, prefetch_factor: 2, in_order: false}\n"
      "device: {emulated: {base: {distribution: exponential, mean: 10ms}}}\nrun: {steps: 4000}\n");
  Variant deeper = c.now;
  deeper.settings.loader.prefetch_factor = 16;
  EXPECT_EQ(diagnose::PredictByBounds(deeper), diagnose::PredictByBounds(c.now));
  EXPECT_GT(c.predict(deeper), 1.1 * c.predict(c.now));
}

RC_GTEST_PROP(VirtualPredictor, NoVariantBeatsItsBounds, ()) {
  static const Case c(kTwoWorkers);
  Variant v = c.now;
  v.settings.loader.workers = *rc::gen::inRange(0, 6);
  v.settings.loader.prefetch_factor = *rc::gen::inRange(1, 4);
  v.pipeline.prepare = v.pipeline.prepare.Scaled(*rc::gen::element(0.0, 0.3, 1.0, 2.0));
  v.pipeline.step = v.pipeline.step.Scaled(*rc::gen::element(0.2, 1.0, 3.0));
  RC_ASSERT(c.predict(v) <= 1.001 * diagnose::PredictByBounds(v));
}

}  // namespace
}  // namespace pipesim::predict
