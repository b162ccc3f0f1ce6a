#include "cost/step.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "support/drawn.h"

namespace pipesim::cost {
namespace {

using base::Duration;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using tests::Fixed;

const spec::Shape kInput = {1000};

spec::DevicePreset Preset() {
  spec::DevicePreset device;
  device.fp32_flops_per_s = 1e12;
  device.memory_bandwidth = {1e18};
  device.step_launch = microseconds(5);
  device.efficiency = 0.5;
  return device;
}

spec::Experiment Emulated() {
  spec::Experiment experiment;
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.loader.batch_size = 64;
  experiment.dataset.shape = kInput;
  experiment.model = {.name = "two",
                      .source = "",
                      .layers = {{.kind = spec::LayerKind::kLinear, .out = 2000},
                                 {.kind = spec::LayerKind::kLinear, .out = 2000}}};
  return experiment;
}

Step Costing(Step::Cost cost, int threads = 0) {
  Step step;
  step.cost = std::move(cost);
  step.threads = threads;
  return step;
}
StepTable Table(Duration of_64) { return StepTable(std::vector<spec::StepPoint>{{64, of_64}}); }

/// The step that the experiment states, asked.
StepServer ServerOf(const spec::Experiment& experiment) {
  return StepServer(StatedStepOf(experiment), experiment.loader.batch_size, experiment.run.seed);
}

TEST(StepServerTest, AStatedCostIsBasePlusSamples) {
  spec::Experiment experiment = Emulated();
  experiment.device.step_base = Fixed(microseconds(200));
  experiment.device.step_per_sample = Fixed(microseconds(5));
  experiment.device.preset = Preset();  // the stated cost goes first
  const StepServer server = ServerOf(experiment);
  EXPECT_EQ(server.Time(0, 64), microseconds(520));
  EXPECT_EQ(server.full(), microseconds(520));
  EXPECT_EQ(server.Time(1, 10), microseconds(250));
  EXPECT_EQ(server.launch(), Duration::zero());
}

TEST(StepServerTest, ADrawnCostBelongsToItsStep) {
  spec::Experiment experiment = Emulated();
  experiment.device.step_base =
      base::Drawn<Duration>{{.kind = base::DistributionKind::kExponential, .mean = 1e6}};
  const StepServer server = ServerOf(experiment), again = ServerOf(experiment);
  std::set<Duration> costs;
  for (std::int64_t step = 0; step < 100; ++step) {
    costs.insert(server.Time(step, 64));
    EXPECT_EQ(server.Time(step, 64), again.Time(step, 64));
  }
  EXPECT_EQ(costs.size(), 100u);
  experiment.run.seed = 2;
  EXPECT_NE(ServerOf(experiment).Time(0, 64), server.Time(0, 64));
}

TEST(StepServerTest, EachAcceleratorDrawsItsOwn) {
  const base::Drawn<Duration> drawn{
      {.kind = base::DistributionKind::kExponential, .mean = 1e6, .values = {}}};
  const Step step = Costing(StatedStep{.base = drawn, .per_sample = {}});
  EXPECT_NE(StepServer(step, 64, 1, 0).Time(0, 64), StepServer(step, 64, 1, 1).Time(0, 64));
}

TEST(StepServerTest, APresetAnswersByItsRoofline) {
  spec::Experiment experiment = Emulated();
  experiment.device.preset = Preset();
  const StepServer server = ServerOf(experiment);
  for (const std::int64_t samples : {1, 17, 64}) {
    const StepEstimate estimate =
        EstimateStep(experiment.model, kInput, experiment.training, Preset(), samples);
    EXPECT_EQ(server.Time(5, samples), estimate.device);
    EXPECT_EQ(server.launch(), estimate.host);
  }
}

TEST(StepServerTest, ATableAnswersAtAnyBatchSizeAndLaunchesStay) {
  spec::Experiment experiment = Emulated();
  experiment.device.preset = Preset();
  Step step = StatedStepOf(experiment);
  step.cost = Table(milliseconds(2));
  const StepServer server(step, 64, 1);
  EXPECT_EQ(server.Time(0, 64), milliseconds(2));
  EXPECT_EQ(server.Time(0, 32), milliseconds(1));
  const int launches = LaunchesOfStep(experiment.model, kInput, {});
  EXPECT_GT(launches, 3);
  EXPECT_EQ(server.launch(), microseconds(5) * launches);
}

TEST(StepTest, WithoutADeviceIsFree) {
  spec::Experiment experiment = Emulated();
  const Step step = StatedStepOf(experiment);
  EXPECT_EQ(step.source, Source::kFree);
  EXPECT_EQ(step.Mean(64), Duration::zero());
}

TEST(StepTest, OfACpuLaunchesAndComputesInTurn) {
  const spec::Experiment experiment = Emulated();
  const StepEstimate estimate =
      EstimateStep(experiment.model, kInput, experiment.training, Preset(), 64);
  Step step = Costing(
      std::make_shared<const Roofline>(experiment.model, kInput, experiment.training, Preset()));
  EXPECT_EQ(step.Mean(64), estimate.device);
  step.threads = 2;
  EXPECT_EQ(step.Mean(64), estimate.device + estimate.host);
}

TEST(StepTest, OfFewerThreadsTakesInProportionAndNoLongerThanOneIsKnownToTake) {
  Step step = Costing(Table(milliseconds(3)), 4);
  EXPECT_EQ(step.MeanOn(64, 4), milliseconds(3));
  EXPECT_EQ(step.MeanOn(64, 8), milliseconds(3));
  EXPECT_EQ(step.MeanOn(64, 2), milliseconds(6));
  EXPECT_EQ(step.MeanOn(64, 1), milliseconds(12));
  step.one_thread = Table(milliseconds(5));
  EXPECT_EQ(step.MeanOn(64, 3), milliseconds(4));
  EXPECT_EQ(step.MeanOn(64, 2), milliseconds(5));
  EXPECT_EQ(step.MeanOn(32, 1), microseconds(2500));
}

TEST(StepTest, TakesLongerAfterAPauseLinearlyUpToTheLongestKnown) {
  Step step = Costing(Table(milliseconds(3)), 2);
  EXPECT_EQ(step.LongerAfter(milliseconds(5)), Duration::zero());
  step.after_pauses = {{milliseconds(10), milliseconds(1)}, {milliseconds(40), milliseconds(2)}};
  EXPECT_EQ(step.LongerAfter(Duration::zero()), Duration::zero());
  EXPECT_EQ(step.LongerAfter(milliseconds(5)), microseconds(500));
  EXPECT_EQ(step.LongerAfter(milliseconds(10)), milliseconds(1));
  EXPECT_EQ(step.LongerAfter(milliseconds(25)), microseconds(1500));
  EXPECT_EQ(step.LongerAfter(std::chrono::seconds(1)), milliseconds(2));
  EXPECT_EQ(step.Scaled(0.5).LongerAfter(std::chrono::seconds(1)), milliseconds(1));
  EXPECT_EQ(step.Scaled(0).LongerAfter(milliseconds(10)), Duration::zero()) << "free";
  step.barriers = 10;
  EXPECT_EQ(step.WithSleepingPool(64, microseconds(15)).LongerAfter(milliseconds(10)), milliseconds(1));
}

TEST(StepTest, ScaledTakesAsManyTimesAsLongWhateverItsCostIs) {
  spec::Experiment experiment = Emulated();
  Step stated =
      Costing(StatedStep{.base = Fixed(microseconds(200)), .per_sample = Fixed(microseconds(5))});
  stated.launch = microseconds(7);
  EXPECT_EQ(stated.Scaled(0.5).Mean(64), microseconds(260));
  EXPECT_EQ(stated.Scaled(0).Mean(64), Duration::zero());
  EXPECT_EQ(stated.Scaled(0).launch, microseconds(7));

  Step table = Costing(Table(milliseconds(3)), 4);
  table.one_thread = Table(milliseconds(5));
  EXPECT_EQ(table.Scaled(2).Mean(64), milliseconds(6));
  EXPECT_EQ(table.Scaled(2).MeanOn(64, 1), milliseconds(10));

  experiment.device.preset = Preset();
  const Step roofline = StatedStepOf(experiment);
  const double once_s = base::ToSeconds(roofline.Mean(64));
  EXPECT_NEAR(base::ToSeconds(roofline.Scaled(0.5).Scaled(3).Mean(64)), 1.5 * once_s, 2e-9);
  EXPECT_EQ(roofline.Scaled(0).Mean(64), Duration::zero());
}

}  // namespace
}  // namespace pipesim::cost
