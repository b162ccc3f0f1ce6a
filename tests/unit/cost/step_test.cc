#include "cost/step.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <stdexcept>

namespace pipesim::cost {
namespace {

using base::Bytes;
using base::Duration;
using std::chrono::microseconds;
using std::chrono::milliseconds;

spec::Layer Linear(std::int64_t out) {
  spec::Layer layer;
  layer.kind = spec::LayerKind::kLinear;
  layer.out = out;
  return layer;
}

spec::Model TwoLinears() {
  return {.name = "two", .source = "", .layers = {Linear(2000), Linear(2000)}};
}
const spec::Shape kInput = {1000};

// A device limited by FLOPs only, or by memory only.
spec::DevicePreset ComputeBound() {
  spec::DevicePreset device;
  device.fp32_flops_per_s = 1e12;
  device.bf16_flops_per_s = 4e12;
  device.memory_bandwidth = {1e18};
  device.launch = microseconds(5);
  device.efficiency = 0.5;
  return device;
}
spec::DevicePreset MemoryBound() {
  spec::DevicePreset device = ComputeBound();
  device.fp32_flops_per_s = device.bf16_flops_per_s = 1e18;
  device.memory_bandwidth = {1e9};
  return device;
}

double Seconds(const spec::DevicePreset& device, std::int64_t samples,
               const spec::Training& training = {}) {
  return base::ToSeconds(EstimateStep(TwoLinears(), kInput, training, device, samples).device);
}

TEST(Roofline, CountsForwardAndBothGradients) {
  // Per sample 2 × 1000 × 2000 FLOPs forward in the first layer and 2 × 2000 × 2000 in the second;
  // the first layer's input needs no gradient: 2 × 4e6 + 3 × 8e6 = 32e6, at half of 1e12 a second.
  const StepEstimate step = EstimateStep(TwoLinears(), kInput, {}, ComputeBound(), 100);
  EXPECT_NEAR(step.flops / 100, 32e6, 0.01e6);  // biases add 0.02 %
  EXPECT_NEAR(base::ToSeconds(step.device), 100 * 32e6 / 0.5e12, 0.001 * 100 * 32e6 / 0.5e12);
}

TEST(Roofline, Bf16HasItsOwnPeakAndHalvesTheLayersBytes) {
  spec::Training bf16;
  bf16.precision = spec::Precision::kBf16;
  EXPECT_NEAR(Seconds(ComputeBound(), 100) / Seconds(ComputeBound(), 100, bf16), 4, 0.01);
  // Parameters P = 1000 × 2000 + 2000 + 2000 × 2000 + 2000, of one sample almost all that moves:
  // layers 2 × 4 B × P1 + 3 × 4 B × P2, the update 3 passes × 4 B × P.
  const double p1 = 2'002'000, p2 = 4'002'000;
  EXPECT_NEAR(Seconds(MemoryBound(), 1), (8 * p1 + 12 * p2 + 12 * (p1 + p2)) / 1e9, 0.0004);
  EXPECT_NEAR(Seconds(MemoryBound(), 1, bf16), (4 * p1 + 6 * p2 + 12 * (p1 + p2)) / 1e9, 0.0004);
}

TEST(Roofline, ADeviceWithoutBf16ComputesInFp32) {
  spec::DevicePreset old = ComputeBound();
  old.bf16_flops_per_s = 0;
  spec::Training bf16;
  bf16.precision = spec::Precision::kBf16;
  EXPECT_NEAR(Seconds(old, 100, bf16), Seconds(old, 100), 1e-6);
}

TEST(Roofline, OptimizersDifferByTheirPassesOverTheParameters) {
  const auto with = [](spec::Optimizer optimizer) {
    spec::Training training;
    training.optimizer = optimizer;
    return Seconds(MemoryBound(), 1, training);
  };
  // One pass: 6,004,000 parameters × 4 B at 1 GB/s. sgd 3 passes, momentum 8, adam 19.
  const double pass_s = 6'004'000 * 4 / 1e9;
  EXPECT_NEAR((with(spec::Optimizer::kMomentum) - with(spec::Optimizer::kSgd)) / pass_s, 5, 1e-6);
  EXPECT_NEAR((with(spec::Optimizer::kAdam) - with(spec::Optimizer::kSgd)) / pass_s, 16, 1e-6);
}

TEST(Roofline, ArraysThatFitTheCachesUseTheCacheBandwidth) {
  const spec::Model small{.name = "small", .source = "", .layers = {Linear(100)}};
  const spec::Model large{.name = "large", .source = "", .layers = {Linear(100'000)}};
  spec::DevicePreset cached = MemoryBound();
  cached.cache_bandwidth = {4e9};
  const auto slower = [&](const spec::Model& model) {
    const auto seconds = [&](const spec::DevicePreset& device) {
      return base::ToSeconds(EstimateStep(model, kInput, {}, device, 1).device);
    };
    return seconds(MemoryBound()) / seconds(cached);
  };
  EXPECT_NEAR(slower(small), 4, 1e-4);  // 0.4 MB of parameters
  EXPECT_NEAR(slower(large), 1, 1e-4);  // 400 MB
  const spec::Model between{.name = "between", .source = "", .layers = {Linear(4000)}};
  EXPECT_GT(slower(between), 1.2);  // 16 MB
  EXPECT_LT(slower(between), 3);
}

TEST(Roofline, TheHostPaysPerLaunchForAnyBatchSize) {
  const StepEstimate small = EstimateStep(TwoLinears(), kInput, {}, ComputeBound(), 1);
  const StepEstimate large = EstimateStep(TwoLinears(), kInput, {}, ComputeBound(), 4096);
  EXPECT_EQ(small.host, large.host);
  EXPECT_EQ(small.host, microseconds(5) * small.launches);
  EXPECT_GT(small.launches, 0);
  spec::Training adam;
  adam.optimizer = spec::Optimizer::kAdam;
  // adam's seven kernels instead of sgd's one
  EXPECT_EQ(EstimateStep(TwoLinears(), kInput, adam, ComputeBound(), 1).launches,
            small.launches + 6);
}

TEST(Roofline, ParametersBeyondOneKernelTakeAnother) {
  const auto launches = [](std::int64_t out) {
    const spec::Model model{.name = "one", .source = "", .layers = {Linear(out)}};
    return EstimateStep(model, kInput, {}, ComputeBound(), 1).launches;
  };
  EXPECT_EQ(launches(21'000), launches(20'000) + 1);  // 320 × 65,536 = 20.97 M parameters
}

RC_GTEST_PROP(Roofline, GrowsWithTheBatchAndBatchesAreNeverDearerTogether, ()) {
  const spec::DevicePreset device = *rc::gen::arbitrary<bool>() ? ComputeBound() : MemoryBound();
  const auto a = *rc::gen::inRange<std::int64_t>(1, 2000);
  const auto b = *rc::gen::inRange<std::int64_t>(1, 2000);
  RC_ASSERT(Seconds(device, a + b) > Seconds(device, a));
  RC_ASSERT(Seconds(device, a + b) <= Seconds(device, a) + Seconds(device, b) + 1e-9);
}

TEST(Roofline, ALayerThatDoesNotFitIsRefused) {
  spec::Model images = TwoLinears();
  images.layers.front().kind = spec::LayerKind::kBatchNorm2d;  // needs channels, rows and columns
  EXPECT_THROW(EstimateStep(images, kInput, {}, ComputeBound(), 1), std::invalid_argument);
}

spec::Experiment Emulated() {
  spec::Experiment experiment;
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.loader.batch_size = 64;
  experiment.dataset.shape = kInput;
  experiment.model = TwoLinears();
  return experiment;
}

base::Drawn<Duration> Fixed(Duration cost) {
  return {base::Distribution::Fixed(static_cast<double>(cost.count()))};
}

TEST(StepModelTest, AStatedCostIsBasePlusSamples) {
  spec::Experiment experiment = Emulated();
  experiment.device.step_base = Fixed(microseconds(200));
  experiment.device.step_per_sample = Fixed(microseconds(5));
  experiment.device.preset = ComputeBound();  // the stated cost wins
  const StepModel model(experiment);
  EXPECT_EQ(model.Device(0, 64), microseconds(520));
  EXPECT_EQ(model.Device(1, 10), microseconds(250));
  EXPECT_EQ(model.Host(64), Duration::zero());
}

TEST(StepModelTest, ARandomCostIsKeyedByItsStep) {
  spec::Experiment experiment = Emulated();
  experiment.device.step_base =
      base::Drawn<Duration>{{.kind = base::DistributionKind::kExponential, .mean = 1e6}};
  const StepModel model(experiment), again(experiment);
  std::set<Duration> costs;
  for (std::int64_t step = 0; step < 100; ++step) {
    costs.insert(model.Device(step, 64));
    EXPECT_EQ(model.Device(step, 64), again.Device(step, 64));
  }
  EXPECT_EQ(costs.size(), 100u);
  experiment.run.seed = 2;
  EXPECT_NE(StepModel(experiment).Device(0, 64), model.Device(0, 64));
}

TEST(StepModelTest, APresetUsesItsRoofline) {
  spec::Experiment experiment = Emulated();
  experiment.device.preset = ComputeBound();
  const StepModel model(experiment);
  for (const std::int64_t samples : {1, 17, 64}) {
    const StepEstimate estimate =
        EstimateStep(experiment.model, kInput, experiment.training, ComputeBound(), samples);
    EXPECT_EQ(model.Device(5, samples), estimate.device);
    EXPECT_EQ(model.Host(samples), estimate.host);
  }
}

TEST(StepModelTest, PageableCopiesTakeTwiceAsLong) {
  spec::Experiment experiment = Emulated();
  EXPECT_EQ(StepModel(experiment).HostToDevice(Bytes{1'000'000}, true), Duration::zero());
  experiment.device.preset = ComputeBound();
  experiment.device.preset->h2d_bandwidth = {1e9};
  const StepModel model(experiment);
  EXPECT_EQ(model.HostToDevice(Bytes{1'000'000}, true), milliseconds(1));
  EXPECT_EQ(model.HostToDevice(Bytes{1'000'000}, false), milliseconds(2));
}

}  // namespace
}  // namespace pipesim::cost
