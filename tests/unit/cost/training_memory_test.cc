#include "cost/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/memory_plan.h"

namespace pipesim::cost {
namespace {

using spec::LayerKind;

constexpr double kMiB = 1 << 20;

/// fp32 samples of 1024 numbers in batches of 256: an input of 1 MiB that needs no cast.
spec::Experiment WideModel(std::vector<spec::Layer> layers) {
  spec::Experiment experiment;
  experiment.dataset.shape = {1024};
  experiment.dataset.dtype = spec::DType::kFloat32;
  experiment.loader.batch_size = 256;
  experiment.model.layers = std::move(layers);
  return experiment;
}

spec::Layer Weights(std::int64_t out) {
  return {.kind = LayerKind::kLinear, .out = out, .bias = false};
}

TrainingMemory PeakOnCpu(const spec::Experiment& experiment) {
  return PeakOfTraining(experiment, 0, {});
}

// The input is the host's batch. The peak is in the backward pass of the first product: both gradients
// of weights are there, and of the activations only the gradient of its output, 2 MiB.
TEST(TrainingMemory, OfTwoProductsIsTheirWeightsTwiceAndTheActivationsOfTheLastBackward) {
  const TrainingMemory peak = PeakOnCpu(WideModel({Weights(2048), Weights(1024)}));
  EXPECT_EQ(peak.parameters, (8 + 8) * kMiB);
  EXPECT_EQ(peak.gradients, 16 * kMiB);
  EXPECT_EQ(peak.optimizer_state, 0);
  EXPECT_NEAR(peak.activations, 2 * kMiB, 2048);
}

TEST(TrainingMemory, OfManyActivationsIsAtTheEndOfTheForwardPass) {
  // Ten products with weights of 4 MiB each.
  std::vector<spec::Layer> layers(10, Weights(1024));
  auto experiment = WideModel(layers);
  experiment.loader.batch_size = 256 * 64;  // activations of 64 MiB
  const TrainingMemory peak = PeakOnCpu(experiment);
  // Nine inputs of products are kept (the first is the host's batch); beside them log-softmax's
  // result and gradient, or a gradient in and one out.
  EXPECT_NEAR(peak.activations, (9 + 2) * 64 * kMiB, 64 * kMiB);
  EXPECT_EQ(peak.parameters, 40 * kMiB);
}

TEST(TrainingMemory, AReluKeepsItsResultAndFreesItsInput) {
  auto with = WideModel({Weights(1024), {.kind = LayerKind::kRelu}, Weights(1024)});
  auto without = WideModel({Weights(1024), Weights(1024)});
  with.loader.batch_size = without.loader.batch_size = 256 * 64;
  EXPECT_NEAR(PeakOnCpu(with).activations, PeakOnCpu(without).activations, 64 * kMiB + 2048);
}

TEST(TrainingMemory, AdamHoldsTwoMomentsAndOneMoreWhileItUpdates) {
  auto experiment = WideModel({Weights(1024)});
  experiment.training.optimizer = spec::Optimizer::kAdam;
  experiment.loader.batch_size = 1;
  const TrainingMemory peak = PeakOnCpu(experiment);
  EXPECT_EQ(peak.optimizer_state, (2 + 1) * 4 * kMiB);
  EXPECT_EQ(peak.gradients, 4 * kMiB);
}

TEST(TrainingMemory, BytesAreCastAndNormalisedIntoTwoCopies) {
  auto experiment = WideModel({Weights(1)});
  experiment.dataset.dtype = spec::DType::kUint8;
  experiment.loader.batch_size = 256 * 64;
  EXPECT_NEAR(PeakOnCpu(experiment).activations, 2 * 64 * kMiB, kMiB);
}

TEST(TrainingMemory, ADevicesBuffersAreThoseInFlightWithTheirLabels) {
  const auto experiment = WideModel({Weights(1)});
  EXPECT_EQ(PeakOfTraining(experiment, 2, {}).input_batches, 2 * (1 * kMiB + 2048));
}

TEST(TrainingMemory, TwoThreadsHaveAWorkspaceWhereMatricesAreMultiplied) {
  EXPECT_EQ(PeakOfTraining(WideModel({Weights(8)}), 2, LibraryMemoryOf(false, 9.0)).workspaces, 64 * kMiB);
  EXPECT_EQ(PeakOfTraining(WideModel({Weights(8)}), 2, LibraryMemoryOf(false, 8.0)).workspaces,
            2 * 8.125 * kMiB);
  EXPECT_EQ(PeakOnCpu(WideModel({Weights(8)})).workspaces, 0);
}

// A perceptron with 1.6 MiB of parameters: 70.9 MiB measured on an H200 (PyTorch 2.11).
TEST(TrainingMemory, OfASmallPerceptronIsMostlyWorkspaces) {
  auto experiment = WideModel({Weights(512), {.kind = LayerKind::kRelu}, Weights(10)});
  experiment.dataset.shape = {784};
  const double total = PeakOfTraining(experiment, 1, LibraryMemoryOf(false, 9.0)).Total();
  EXPECT_NEAR(total, 70.9 * kMiB, 0.05 * 70.9 * kMiB);
}

TEST(TrainingMemory, GrowsWithTheBatch) {
  auto experiment = WideModel({Weights(1024), {.kind = LayerKind::kGelu}, Weights(10)});
  const double small = PeakOnCpu(experiment).Total();
  experiment.loader.batch_size *= 2;
  EXPECT_GT(PeakOnCpu(experiment).Total(), small);
}

TEST(TrainingMemory, AnIdentityIsKeptOnce) {
  spec::Layer residual{.kind = LayerKind::kResidual};
  residual.body = {Weights(1024), {.kind = LayerKind::kRelu}, Weights(1024)};
  auto experiment = WideModel({Weights(1024), residual, Weights(8)});
  experiment.loader.batch_size = 256 * 64;
  // Kept: the residual's input, the ReLU's result, the sum; beside them at most the body's result
  // and a gradient.
  EXPECT_NEAR(PeakOnCpu(experiment).activations, 4 * 64 * kMiB, 64 * kMiB + kMiB);
}

// The article's Tesla M4 of 3840 MiB.
TEST(MatmulMemory, ATeslaM4Holds21000ButNot30000) {
  const LibraryMemory libraries = LibraryMemoryOf(false, 5.2);
  const double has = 3840 * kMiB;
  EXPECT_LE(PlanMatmul(21000, libraries).Total(), has);
  EXPECT_NEAR(PlanMatmul(21000, libraries).Total() / kMiB, 3450, 0.05 * 3450);
  EXPECT_GT(PlanMatmul(30000, libraries).Total(), has);
  EXPECT_NEAR(PlanMatmul(51200, libraries).parts[0].bytes / kMiB / 1024, 9.77, 0.005);
  EXPECT_EQ(PlanMatmul(102400, libraries).parts[0].bytes, 41'943'040'000);
}

TEST(LargestWithin, IsTheLargestThatFits) {
  const auto squares = [](std::int64_t n) {
    return MemoryPlan{{{"squares", static_cast<double>(n * n)}}, {}};
  };
  EXPECT_EQ(LargestWithin(100, squares), 10);
  EXPECT_EQ(LargestWithin(99, squares), 9);
  EXPECT_EQ(LargestWithin(0.5, squares), 0);
}

}  // namespace
}  // namespace pipesim::cost
