#include "cost/roofline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

namespace pipesim::cost {
namespace {

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
const spec::Shape kFeatures = {1000};

// Memory is so fast that FLOPs alone count, or the other way round.
spec::DevicePreset ComputeBound() {
  spec::DevicePreset device;
  device.fp32_flops_per_s = 1e12;
  device.bf16_flops_per_s = 4e12;
  device.memory_bandwidth = {1e18};
  device.step_launch = microseconds(5);
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
  return base::ToSeconds(EstimateStep(TwoLinears(), kFeatures, training, device, samples).device);
}

TEST(Roofline, CountsForwardAndBothGradients) {
  // Per sample 2 × 1000 × 2000 FLOPs forward in the first layer and 2 × 2000 × 2000 in the second;
  // the first layer's input needs no gradient: 2 × 4e6 + 3 × 8e6 = 32e6, at half of 1e12 a second.
  const StepEstimate step = EstimateStep(TwoLinears(), kFeatures, {}, ComputeBound(), 100);
  EXPECT_NEAR(step.flops / 100, 32e6, 0.01e6);  // biases add 0.02 %
  EXPECT_NEAR(base::ToSeconds(step.device), 100 * 32e6 / 0.5e12, 0.001 * 100 * 32e6 / 0.5e12);
}

TEST(Roofline, Bf16IsFasterInFlopsAndHalvesTheBytesOfLayers) {
  spec::Training bf16;
  bf16.precision = spec::Precision::kBf16;
  EXPECT_NEAR(Seconds(ComputeBound(), 100) / Seconds(ComputeBound(), 100, bf16), 4, 0.01);
  // Parameters P = 1000 × 2000 + 2000 + 2000 × 2000 + 2000, of one sample almost all that moves:
  // layers 2 × 4 B × P1 + 3 × 4 B × P2, the update 3 passes × 4 B × P.
  const double p1 = 2'002'000, p2 = 4'002'000;
  EXPECT_NEAR(Seconds(MemoryBound(), 1), (8 * p1 + 12 * p2 + 12 * (p1 + p2)) / 1e9, 0.0004);
  EXPECT_NEAR(Seconds(MemoryBound(), 1, bf16), (4 * p1 + 6 * p2 + 12 * (p1 + p2)) / 1e9, 0.0004);
}

spec::Model OneConvolution() {
  spec::Layer conv;
  conv.kind = spec::LayerKind::kConv2d;
  conv.out = 8;
  conv.kernel = 3;
  return {.name = "one", .source = "", .layers = {conv}};
}
double SecondsOfConvolution(const spec::DevicePreset& on, const spec::Training& training = {}) {
  return base::ToSeconds(EstimateStep(OneConvolution(), {8, 34, 34}, training, on, 100).device);
}

TEST(Roofline, ConvolutionsHaveAnEfficiencyOfTheirOwn) {
  spec::DevicePreset device = ComputeBound();
  device.conv_efficiency /= 2;
  EXPECT_NEAR(SecondsOfConvolution(device) / SecondsOfConvolution(ComputeBound()), 2, 0.02);
  EXPECT_EQ(Seconds(device, 64), Seconds(ComputeBound(), 64));
}

TEST(Roofline, Tf32SpeedsUpConvolutionsByDefaultAndMatrixProductsWhenAsked) {
  spec::DevicePreset device = ComputeBound();
  device.tf32_flops_per_s = 8e12;  // 8 times fp32
  spec::Training tf32;
  tf32.precision = spec::Precision::kTf32;
  EXPECT_NEAR(Seconds(device, 100), Seconds(ComputeBound(), 100), 1e-6);
  EXPECT_NEAR(Seconds(device, 100) / Seconds(device, 100, tf32), 8, 0.02);
  const auto& convolution = SecondsOfConvolution;
  EXPECT_NEAR(convolution(ComputeBound(), {}) / convolution(device, {}), 8, 0.02);
  EXPECT_NEAR(convolution(device, {}) / convolution(device, tf32), 1, 1e-6);
  EXPECT_NEAR(convolution(ComputeBound(), tf32) / convolution(ComputeBound(), {}), 1, 1e-6);  // it has none
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

TEST(Roofline, ArraysThatTheCachesHoldMoveAtTheirBandwidth) {
  const spec::Model small{.name = "small", .source = "", .layers = {Linear(100)}};
  const spec::Model large{.name = "large", .source = "", .layers = {Linear(100'000)}};
  spec::DevicePreset cached = MemoryBound();
  cached.cache_bandwidth = {4e9};
  const auto slower = [&](const spec::Model& model) {
    const auto seconds = [&](const spec::DevicePreset& device) {
      return base::ToSeconds(EstimateStep(model, kFeatures, {}, device, 1).device);
    };
    return seconds(MemoryBound()) / seconds(cached);
  };
  EXPECT_NEAR(slower(small), 4, 1e-4);  // 0.4 MB of parameters
  EXPECT_NEAR(slower(large), 1, 1e-4);  // 400 MB
  const spec::Model between{.name = "between", .source = "", .layers = {Linear(4000)}};
  EXPECT_GT(slower(between), 1.2);  // 16 MB
  EXPECT_LT(slower(between), 3);
}

TEST(Roofline, TheHostPaysForEachLaunchWhateverTheBatch) {
  const StepEstimate small = EstimateStep(TwoLinears(), kFeatures, {}, ComputeBound(), 1);
  const StepEstimate large = EstimateStep(TwoLinears(), kFeatures, {}, ComputeBound(), 4096);
  EXPECT_EQ(small.host, large.host);
  EXPECT_EQ(small.host, microseconds(5) * small.launches);
  EXPECT_GT(small.launches, 0);
  spec::Training adam;
  adam.optimizer = spec::Optimizer::kAdam;
  // adam's seven kernels in place of sgd's one
  EXPECT_EQ(EstimateStep(TwoLinears(), kFeatures, adam, ComputeBound(), 1).launches,
            small.launches + 6);
}

TEST(Roofline, NoKernelIsShorterThanTheShortest) {
  spec::DevicePreset device = ComputeBound();
  device.kernel = milliseconds(1);
  const StepEstimate one = EstimateStep(TwoLinears(), kFeatures, {}, device, 1);
  EXPECT_EQ(one.device, milliseconds(1) * one.launches);
  EXPECT_EQ(EstimateStep(TwoLinears(), kFeatures, {}, device, 2).device, one.device);
}

TEST(Roofline, MoreParametersThanOneKernelCoversTakeAnother) {
  const auto launches = [](std::int64_t out) {
    const spec::Model model{.name = "one", .source = "", .layers = {Linear(out)}};
    return EstimateStep(model, kFeatures, {}, ComputeBound(), 1).launches;
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
  images.layers.front().kind = spec::LayerKind::kBatchNorm2d;  // wants channels, rows and columns
  EXPECT_THROW(EstimateStep(images, kFeatures, {}, ComputeBound(), 1), std::invalid_argument);
}

}  // namespace
}  // namespace pipesim::cost
