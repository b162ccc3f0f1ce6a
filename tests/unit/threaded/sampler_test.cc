#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>

#include "engine/threaded/sample_pool.h"
#include "pipeline.h"

namespace pipesim::engine::threaded {
namespace {

spec::Experiment Drawn() {
  auto experiment = Small();
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.dataset.sample_bytes = {
      {.kind = base::DistributionKind::kUniform, .low = 10, .high = 1000}};
  experiment.storage.latency = {{.kind = base::DistributionKind::kExponential, .mean = 1e6}};
  experiment.prepare = {.kind = spec::PrepareKind::kBurn,
                        .cost = {{.kind = base::DistributionKind::kExponential, .mean = 1e6}}};
  return experiment;
}

Sampler SamplerOf(const spec::Experiment& experiment) {
  return Sampler(experiment, cost::Stated(experiment));
}

TEST(Sampler, EveryEpochHoldsEachSampleOnceInAnOrderOfItsOwn) {
  const Sampler sampler = SamplerOf(Small());
  std::vector<std::int64_t> orders[2];
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto order = sampler.EpochOrder(epoch);
    for (int position = 0; position < 24; ++position) orders[epoch].push_back(order(position));
    EXPECT_EQ(std::set(orders[epoch].begin(), orders[epoch].end()).size(), 24u);
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(Sampler, DealsAnEpochToAcceleratorsAsPyTorchsDistributedSamplerDoes) {
  // 5 accelerators, 24 samples: 5 each, so that one sample is dealt twice, the first of the order.
  auto experiment = Small();
  experiment.run.accelerators = 5;
  const Sampler sampler = SamplerOf(experiment);
  const auto whole = SamplerOf(Small()).EpochOrder(2);
  for (int rank = 0; rank < 5; ++rank) {
    const auto own = sampler.WholeEpochOrder(2, rank);
    std::array<std::uint64_t, 5> range;
    own.Range(0, range);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(own(i), whole((rank + 5 * i) % 24)) << rank << " " << i;
      EXPECT_EQ(range[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(own(i)));
    }
  }
  EXPECT_EQ(spec::SamplesPerEpoch(experiment), 5);
}

TEST(Sampler, WithoutShuffleTheOrderIsTheDataSets) {
  auto experiment = Small();
  experiment.loader.shuffle = false;
  EXPECT_EQ(SamplerOf(experiment).EpochOrder(3)(17), 17);
}

TEST(Sampler, AChunkIsTheSumOfItsSamples) {
  const Sampler sampler = SamplerOf(Drawn());
  const auto order = sampler.EpochOrder(1);
  const ChunkDemand chunk = sampler.Demand(1, order, 5, 3);
  ChunkDemand sum;
  for (int position = 5; position < 8; ++position) {
    const ChunkDemand one = sampler.Demand(1, order, position, 1);
    sum.bytes += one.bytes;
    sum.latency += one.latency;
    sum.prepare += one.prepare;
  }
  EXPECT_EQ(chunk.reads, 3);
  EXPECT_EQ(chunk.bytes, sum.bytes);
  EXPECT_EQ(chunk.latency, sum.latency);
  EXPECT_EQ(chunk.prepare, sum.prepare);
}

TEST(Sampler, AChunksHitsCostCopiesAndItsMissesStorage) {
  auto experiment = Drawn();
  experiment.storage.cache = {.policy = spec::CachePolicy::kLru,
                              .size = {24 * 1000},
                              .warm = 0,
                              .hit_bandwidth = base::BytesPerSecond{1e6}};
  const Sampler sampler = SamplerOf(experiment);
  const auto order = sampler.EpochOrder(0);
  auto cache =
      cost::SampleCache::Of(experiment, cost::Stated(experiment),
                            [&](std::int64_t sample) { return sampler.StoredBytes(sample); });
  sampler.Demand(0, order, 0, 5, &*cache);
  const ChunkDemand both = sampler.Demand(0, order, 3, 4, &*cache);  // 3 and 4 were read before
  const ChunkDemand hits = sampler.Demand(0, order, 3, 2), misses = sampler.Demand(0, order, 5, 2);
  EXPECT_EQ(both.hits, 2);
  EXPECT_EQ(both.reads, 2);
  EXPECT_EQ(both.bytes, misses.bytes);
  EXPECT_EQ(both.latency, misses.latency);
  EXPECT_NEAR(base::ToSeconds(both.read_cpu), static_cast<double>(hits.bytes.count) / 1e6, 2e-9);
  EXPECT_EQ(both.prepare, hits.prepare + misses.prepare);
}

TEST(Sampler, EveryReadOfAStorageThatCostsCpuTimeDoesSo) {
  const auto experiment = Drawn();
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.storage.read_cpu = 10us;
  const Sampler sampler(experiment, pipeline);
  EXPECT_EQ(sampler.Demand(0, sampler.EpochOrder(0), 5, 3).read_cpu, 30us);
  EXPECT_EQ(SamplerOf(experiment).Demand(0, sampler.EpochOrder(0), 5, 3).read_cpu, 0us);
}

TEST(Sampler, ASampleCostsTheSameEveryEpochButStorageAnswersAnew) {
  auto experiment = Drawn();
  experiment.loader.shuffle = false;
  const Sampler sampler = SamplerOf(experiment);
  const ChunkDemand first = sampler.Demand(0, sampler.EpochOrder(0), 7, 1);
  const ChunkDemand second = sampler.Demand(1, sampler.EpochOrder(1), 7, 1);
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_EQ(first.prepare, second.prepare);
  EXPECT_NE(first.latency, second.latency);
}

TEST(Sampler, LabelsAreClasses) {
  const Sampler sampler = SamplerOf(Small());
  std::set<std::int64_t> labels;
  for (int sample = 0; sample < 1000; ++sample) labels.insert(sampler.Label(sample));
  EXPECT_EQ(labels.size(), 10u);
  EXPECT_EQ(*labels.begin(), 0);
  EXPECT_EQ(*labels.rbegin(), 9);
}

TEST(SamplePool, FloatingPointContentIsFinite) {
  auto experiment = Small();
  experiment.dataset.dtype = spec::DType::kFloat32;
  const SamplePool pool(experiment);
  for (int sample = 0; sample < 24; ++sample) {
    float values[8];
    const auto content = pool[sample];
    ASSERT_EQ(content.size(), sizeof values);
    std::memcpy(values, content.data(), sizeof values);
    for (const float value : values) {
      EXPECT_GE(std::abs(value), 0.5f);
      EXPECT_LT(std::abs(value), 1.0f);
    }
  }
}

TEST(SamplePool, TokensStayBelowTheVocabulary) {
  auto experiment = Small();
  experiment.dataset.dtype = spec::DType::kInt64;
  experiment.model.layers = {{.kind = spec::LayerKind::kEmbedding, .out = 4, .vocab = 50}};
  const SamplePool pool(experiment);
  std::int64_t largest = 0;
  for (int sample = 0; sample < 24; ++sample) {
    std::int64_t tokens[8];
    std::memcpy(tokens, pool[sample].data(), sizeof tokens);
    for (const std::int64_t token : tokens) {
      EXPECT_GE(token, 0);
      largest = std::max(largest, token);
    }
  }
  EXPECT_LT(largest, 50);
  EXPECT_GT(largest, 10);  // not the 10 classes
}

}  // namespace
}  // namespace pipesim::engine::threaded
