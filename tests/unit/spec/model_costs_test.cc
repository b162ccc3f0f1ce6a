#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "support.h"

namespace pipesim::spec {
namespace {

using testing::HasSubstr;

std::int64_t ParametersOf(const std::string& model) {
  const Experiment experiment = Read("model: " + model);
  std::int64_t parameters = 0;
  for (const LayerCost& cost : CostsOf(experiment.model, experiment.dataset.shape)) {
    parameters += cost.parameters;
  }
  return parameters;
}

/// Multiply-adds in convolutions and linear layers, the usual figure in model tables.
double GigaMacs(const std::string& model) {
  const Experiment experiment = Read("model: " + model);
  double flops = 0;
  for (const LayerCost& cost : CostsOf(experiment.model, experiment.dataset.shape)) {
    const bool product = cost.name.starts_with("conv2d") || cost.name.starts_with("linear");
    if (product) flops += cost.forward_flops;
  }
  return flops / 2 / 1e9;
}

TEST(ModelCosts, ParametersAreThePublishedCounts) {
  EXPECT_EQ(ParametersOf("resnet18"), 11'689'512);  // torchvision, IMAGENET1K weights
  EXPECT_EQ(ParametersOf("resnet50"), 25'557'032);
  EXPECT_EQ(ParametersOf("mlp"), 407'050);  // 784 x 512 + 512 + 512 x 10 + 10
  EXPECT_EQ(ParametersOf("linear"), 7'850);
}

TEST(ModelCosts, MultiplyAddsAreThePublishedCounts) {
  EXPECT_NEAR(GigaMacs("resnet18"), 1.814, 0.005);  // torchvision: 1.81
  EXPECT_NEAR(GigaMacs("resnet50"), 4.089, 0.005);  // torchvision: 4.09
}

TEST(ModelCosts, AnEncoderBlockHasAsManyParametersAsPyTorchs) {
  // TransformerEncoderLayer(256, 4, 1024): 4 d^2 + 4 d, 2 x 4 d^2 + 4 d + d, 2 norms of 2 d =
  // 789,760
  const std::int64_t d = 256;
  const std::int64_t block = (4 * d * d + 4 * d) + (8 * d * d + 4 * d + d) + 4 * d;
  ASSERT_EQ(block, 789'760);
  const std::int64_t rest = 32'000 * d + 128 * d + 2 * d + (d * 2 + 2);
  EXPECT_EQ(ParametersOf("transformer"), 4 * block + rest);
}

TEST(ModelCosts, OutputShapesFollowKernelStrideAndPadding) {
  const Experiment experiment = Read("model: resnet18");
  const auto costs = CostsOf(experiment.model, experiment.dataset.shape);
  EXPECT_EQ(costs[0].name, "conv2d 64 7x7/2");
  EXPECT_EQ(costs[0].out, (Shape{64, 112, 112}));  // (224 + 2 x 3 - 7) / 2 + 1
  EXPECT_EQ(costs[3].out, (Shape{64, 56, 56}));    // (112 + 2 x 1 - 3) / 2 + 1
  EXPECT_EQ(costs.back().out, (Shape{1000}));
}

TEST(ModelCosts, FlattenIsFree) {
  const auto costs = CostsOf({.layers = {{.kind = LayerKind::kFlatten}}}, {3, 4, 5});
  EXPECT_EQ(costs[0].out, (Shape{60}));
  EXPECT_EQ(costs[0].forward_launches, 0);
  EXPECT_EQ(costs[0].elements_out, 0);
}

std::string WhyNot(const std::vector<Layer>& layers, const Shape& input) {
  try {
    CostsOf({.layers = layers}, input);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ModelCosts, ALayerThatDoesNotFitIsNamed) {
  EXPECT_THAT(
      WhyNot({{.kind = LayerKind::kRelu}, {.kind = LayerKind::kConv2d, .out = 8, .kernel = 3}},
             {784}),
      HasSubstr("layer 2 (conv2d 8 3x3) takes CxHxW, not 784"));
  EXPECT_THAT(WhyNot({{.kind = LayerKind::kMaxPool2d, .kernel = 9}}, {3, 4, 4}),
              HasSubstr("9-wide window"));
  EXPECT_THAT(WhyNot({{.kind = LayerKind::kAttention, .heads = 3}}, {16, 64}),
              HasSubstr("3 heads"));
}

TEST(ModelCosts, ResidualBranchesMustMatch) {
  const Layer residual{.kind = LayerKind::kResidual,
                       .body = {{.kind = LayerKind::kLinear, .out = 5}}};
  EXPECT_THAT(WhyNot({residual}, {4}), HasSubstr("body produces 5 and its shortcut 4"));
}

TEST(ModelCosts, SizesBeyond64BitsAreRefused) {
  const Layer wide{.kind = LayerKind::kConv2d, .out = 1 << 20, .kernel = 1, .padding = 256};
  EXPECT_THAT(WhyNot(std::vector<Layer>(50, wide), {1, 4096, 4096}), HasSubstr("too large"));
}

}  // namespace
}  // namespace pipesim::spec
