// Built models match spec's counts: every shipped model and every kind of layer.
#include <gtest/gtest.h>

#include "spec/data_files.h"
#include "spec/read.h"
#include "support.h"

namespace pipesim::engine {
namespace {

using spec::Layer;
using spec::LayerKind;

std::int64_t CountedParameters(const spec::Experiment& experiment) {
  std::int64_t count = 0;
  for (const auto& cost : spec::CostsOf(experiment.model, experiment.dataset.shape))
    count += cost.parameters;
  return count;
}

TEST(ModelBuilder, EveryModelHasTheParametersThatSpecCounts) {
  const spec::DataFolders folders{{PIPESIM_SOURCE_DIR}};
  const auto names = spec::DataNames(folders, spec::DataKind::kModel);
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
    const auto experiment =
        spec::ReadExperimentText("model: " + name, "test", {}, folders).experiment;
    EXPECT_EQ(Consumer(experiment).trainer().info().parameters, CountedParameters(experiment))
        << name;
  }
}

TEST(ModelBuilder, EveryModelTrainsOneStep) {
  const spec::DataFolders folders{{PIPESIM_SOURCE_DIR}};
  for (const std::string& name : spec::DataNames(folders, spec::DataKind::kModel)) {
    const auto experiment =
        spec::ReadExperimentText("model: " + name, "test", {}, folders).experiment;
    // Two samples: batch normalisation needs more than one value a channel.
    const LearnableBatch batch(experiment, 2);
    Consumer consumer(experiment);
    EXPECT_GT(consumer.Step(batch.batch()), 0) << name;
  }
}

Layer Pool(LayerKind kind) {
  Layer layer = Plain(kind);
  layer.kernel = layer.stride = 2;
  return layer;
}

TEST(ModelBuilder, EveryImageLayerIsBuiltAsCounted) {
  Layer grouped = Conv(8);
  grouped.groups = 4;
  grouped.bias = false;
  Layer narrow = Conv(8);
  narrow.kernel = 1;
  narrow.padding = 0;
  narrow.stride = 2;
  Layer strided = grouped;
  strided.stride = 2;
  Layer with_shortcut = Plain(LayerKind::kResidual);
  with_shortcut.body = {strided, Plain(LayerKind::kBatchNorm2d)};
  with_shortcut.shortcut = {narrow};
  Layer identity = Plain(LayerKind::kResidual);
  identity.body = {Conv(8), Relu()};
  Layer dropout = Plain(LayerKind::kDropout);
  dropout.p = 0.1;
  auto experiment = SmallExperiment({Conv(8), with_shortcut, identity, Pool(LayerKind::kMaxPool2d),
                                     Pool(LayerKind::kAvgPool2d), Plain(LayerKind::kGelu),
                                     Flatten(), dropout, Linear(4)});
  Consumer consumer(experiment);
  EXPECT_EQ(consumer.trainer().info().parameters, CountedParameters(experiment));
  const auto [first, last] = consumer.Train(60);
  EXPECT_LT(last, first);
}

TEST(ModelBuilder, EveryTokenLayerIsBuiltAsCounted) {
  Layer embedding = Plain(LayerKind::kEmbedding);
  embedding.vocab = 300;
  embedding.out = 16;
  Layer attention = Plain(LayerKind::kAttention);
  attention.heads = 4;
  Layer block = Plain(LayerKind::kResidual);
  block.body = {Plain(LayerKind::kLayerNorm), attention};
  auto experiment = SmallExperiment(
      {embedding, Plain(LayerKind::kPositional), block, Plain(LayerKind::kMean), Linear(4)});
  experiment.dataset.shape = {12};
  experiment.dataset.dtype = spec::DType::kInt64;
  Consumer consumer(experiment);
  EXPECT_EQ(consumer.trainer().info().parameters, CountedParameters(experiment));
  const auto [first, last] = consumer.Train(60);
  EXPECT_LT(last, first / 2);
}

}  // namespace
}  // namespace pipesim::engine
