// Changes run in virtual time: the run as it was, demands made free, settings that bounds cannot see.
#include "app/virtual_predictor.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "diagnose/demands.h"
#include "spec/read.h"

namespace pipesim::app {
namespace {

using diagnose::Scenario;

const spec::DataFolders kFolders{{std::filesystem::path(PIPESIM_SOURCE_DIR)}};

/// An experiment, answered, and the predictor of changes to it.
struct Case {
  explicit Case(const std::string& yaml)
      : experiment(spec::ReadExperimentText(yaml, "test.yaml", {}, kFolders).experiment) {
    basis.profile = spec::ReadMachineProfileText("context: {cores: 64}\n", "p.yaml");
    basis.cores_here = 64;
    report = Predict(experiment, basis, nullptr);
    const PredictionCosts costs = CostsOf(experiment, basis);
    scenario = diagnose::ScenarioOf(costs.executed, report.measurement);
    predict = PredictInVirtualTime(costs, report.measurement, nullptr);
  }
  double rate() const { return *report.measurement.result.samples_per_s; }

  spec::Experiment experiment;
  Basis basis;
  report::RunReport report;
  Scenario scenario;
  diagnose::Predictor predict;
};

// 32 samples of 1 ms each a batch: 32 ms a worker; steps of 20 ms: 1.6 workers' worth.
constexpr const char* kTwoWorkers =
    "storage: none\nprepare: {kind: wait, cost: 1ms}\nloader: {workers: 1, batch_size: 32}\n"
    "device: {emulated: {base: 20ms}}\nrun: {steps: 400}\n";

TEST(VirtualPredictor, TheRunAsItWasHasItsOwnRate) {
  const Case c(kTwoWorkers);
  EXPECT_NEAR(c.rate(), 1000, 1);
  EXPECT_NEAR(c.predict(c.scenario) / c.rate(), 1, 0.001);
}

TEST(VirtualPredictor, WorkersAndDemandsChangeTheRateAsTheyMust) {
  const Case c(kTwoWorkers);
  Scenario two = c.scenario;
  two.workers = 2;
  EXPECT_NEAR(c.predict(two), 1600, 2);  // the step limits
  Scenario faster = c.scenario;
  *faster.demands.prepare_wait_s /= 4;
  EXPECT_NEAR(c.predict(faster), 1600, 2);
  Scenario free_step = two;
  free_step.demands.step_s = 0;
  EXPECT_NEAR(c.predict(free_step), 2000, 2);
  Scenario half_step = two;
  *half_step.demands.step_s /= 2;
  EXPECT_NEAR(c.predict(half_step), 2000, 2);
}

TEST(VirtualPredictor, RunsEveryAcceleratorOfAChange) {
  // Three on a storage of 2500 samples/s for all, each good for 1000: twice its speed suffices.
  const Case c(
      "storage: {bandwidth: 25MB/s}\ndataset: {sample_bytes: 10kB}\nprepare: none\n"
      "loader: {workers: 2, batch_size: 20}\ndevice: {emulated: {base: 20ms}}\n"
      "run: {steps: 400, accelerators: 3}\n");
  EXPECT_NEAR(c.rate(), 2500, 15);
  EXPECT_NEAR(c.predict(c.scenario) / c.rate(), 1, 0.01);
  EXPECT_NEAR(c.predict(diagnose::Scaled(c.scenario, diagnose::Demand::kStorage, 0.5)), 3000, 15);
  EXPECT_EQ(c.report.diagnosis.bottleneck, diagnose::Verdict::kIoBound);
  EXPECT_EQ(c.report.diagnosis.headline.find("storage limits training on 3 accelerators"), 0u);
}

TEST(VirtualPredictor, ALargerBatchTakesWhatItsDemandsSay) {
  const Case c(kTwoWorkers);
  Scenario larger = c.scenario;
  larger.workers = 4;
  larger.demands.batch_samples *= 2;
  *larger.demands.prepare_wait_s *= 2;
  *larger.demands.step_s *= 1.5;
  EXPECT_NEAR(c.predict(larger), 64 / 0.030, 5);
}

TEST(VirtualPredictor, WhereBoundsKnowNoLimitThereIsNone) {
  const Case c(kTwoWorkers);
  Scenario free = c.scenario;
  free.demands.prepare_wait_s = free.demands.step_s = free.demands.collate_s = 0;
  EXPECT_TRUE(std::isinf(c.predict(free)));
}

TEST(VirtualPredictor, SeesWhatBoundsOnMeansCannot) {
  // Balanced exponential stages: deeper prefetch evens them out, means stay as they are.
  const Case c(
      "storage: none\nprepare: {kind: wait, cost: {distribution: exponential, mean: 10ms}}\n"
      "loader: {workers: 1, batch_size: 1, prefetch_factor: 2, in_order: false}\n"
      "device: {emulated: {base: {distribution: exponential, mean: 10ms}}}\nrun: {steps: 4000}\n");
  Scenario deeper = c.scenario;
  deeper.prefetch_factor = 16;
  EXPECT_EQ(diagnose::PredictByBounds(deeper), diagnose::PredictByBounds(c.scenario));
  EXPECT_GT(c.predict(deeper), 1.1 * c.predict(c.scenario));
}

RC_GTEST_PROP(VirtualPredictor, NoScenarioBeatsItsBounds, ()) {
  static const Case c(kTwoWorkers);
  Scenario s = c.scenario;
  s.workers = *rc::gen::inRange(0, 6);
  s.prefetch_factor = *rc::gen::inRange(1, 4);
  *s.demands.prepare_wait_s *= *rc::gen::element(0.0, 0.3, 1.0, 2.0);
  *s.demands.step_s *= *rc::gen::element(0.2, 1.0, 3.0);
  RC_ASSERT(c.predict(s) <= 1.001 * diagnose::PredictByBounds(s));
}

TEST(VirtualPredictor, IsAskedOnlyWhereAllChangesTogetherAreQuick) {
  const Case small(kTwoWorkers);
  EXPECT_TRUE(VirtualTimeIsQuick(CostsOf(small.experiment, small.basis), small.report.measurement));
  EXPECT_TRUE(small.report.prediction->changes_were_run);
  const Case large(
      "model: resnet50\nprepare: {kind: burn, cost: 8ms}\nloader: {workers: 64, batch_size: 256}\n"
      "device: {emulated: {base: 200ms}}\nrun: {steps: 40}\n");
  EXPECT_FALSE(large.report.prediction->changes_were_run);
}

}  // namespace
}  // namespace pipesim::app
