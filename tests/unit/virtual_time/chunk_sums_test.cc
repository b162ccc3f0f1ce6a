// Sums of drawn costs that runs share must be what each run would compute.
#include "engine/chunk_sums.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "engine/sampler.h"
#include "pipeline.h"
#include "print_trace.h"

namespace pipesim::engine {
namespace {

/// 50 samples in batches of 8, whose chunks are smaller; every cost is drawn.
spec::Experiment DrawnCosts() {
  spec::Experiment experiment = Stages(3, 0s, 300us, 200);
  experiment.dataset.samples = 50;
  experiment.dataset.sample_bytes = {
      {.kind = base::DistributionKind::kUniform, .low = 10, .high = 1000, .values = {}}};
  experiment.loader.batch_size = 8;
  experiment.prepare.cost = Exponential(200us);
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Exponential(100us);
  return experiment;
}

TEST(ChunkSums, AreTheSumsThatEachRunComputes) {
  const spec::Experiment experiment = DrawnCosts();
  const cost::Pipeline pipeline = cost::Stated(experiment);
  const Sampler alone(experiment, pipeline);
  const auto sums = std::make_shared<ChunkSums>(experiment, pipeline);
  const Sampler sharing(experiment, pipeline, {.sample_bytes = {}, .prepare = {}, .sums = sums});
  const std::int64_t chunk = cost::ChunkSamples(experiment, pipeline);
  ASSERT_GT(chunk, 1);
  ASSERT_LT(chunk, 8);
  for (int round = 0; round < 2; ++round) {  // first stored, then found
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto order = alone.WholeEpochOrder(epoch);
      for (std::int64_t batch = 0; batch < 50; batch += 8) {
        const std::int64_t end = std::min<std::int64_t>(batch + 8, 50);
        for (std::int64_t at = batch; at < end; at += chunk) {
          const std::int64_t samples = std::min(chunk, end - at);
          const ChunkDemand expected = alone.Demand(epoch, order, at, samples);
          const ChunkDemand shared = sharing.Demand(epoch, order, at, samples);
          EXPECT_EQ(shared.reads, expected.reads);
          EXPECT_EQ(shared.bytes, expected.bytes);
          EXPECT_EQ(shared.latency, expected.latency);
          EXPECT_EQ(shared.prepare, expected.prepare);
        }
      }
    }
  }
}

TEST(ChunkSums, ServeOnlyRunsOfTheSameSamplesAndCosts) {
  const spec::Experiment experiment = DrawnCosts();
  const ChunkSums sums(experiment, cost::Stated(experiment));
  const auto fits = [&](const std::function<void(spec::Experiment&)>& change) {
    spec::Experiment other = experiment;
    change(other);
    return sums.Are(other, cost::Stated(other));
  };
  EXPECT_TRUE(fits([](auto& e) { e.loader.workers = 7; }));
  EXPECT_TRUE(fits([](auto& e) { e.device.step_base = Fixed(1ms); }));
  EXPECT_FALSE(fits([](auto& e) { e.loader.batch_size = 4; }));
  EXPECT_FALSE(fits([](auto& e) { e.loader.shuffle = !e.loader.shuffle; }));
  EXPECT_FALSE(fits([](auto& e) { e.loader.drop_last = !e.loader.drop_last; }));
  EXPECT_FALSE(fits([](auto& e) { e.run.seed = 2; }));
  EXPECT_FALSE(fits([](auto& e) { e.prepare.cost = Exponential(100us); }));
  EXPECT_FALSE(fits([](auto& e) { e.storage.latency = Exponential(200us); }));
}

TEST(ChunkSums, OfOneExecutorLeaveEachRunAsItIs) {
  const auto shared = MakeVirtualExecutor();
  constexpr std::uint64_t kSeeds = 17;  // more than are kept
  for (std::uint64_t i = 0; i <= kSeeds; ++i) {
    const std::uint64_t seed = i % kSeeds + 1;
    for (const int workers : {0, 1, 3}) {
      spec::Experiment experiment = DrawnCosts();
      experiment.run.seed = seed;
      experiment.loader.workers = workers;
      const cost::Pipeline pipeline = cost::Stated(experiment);
      EXPECT_EQ(Print(shared->Run(experiment, pipeline, {})),
                Print(Predict(experiment, pipeline)));
    }
  }
}

TEST(ChunkSums, OfExecutorsThatShareDrawsLeaveEachItsOwnCountOfEvents) {
  const spec::Experiment experiment = DrawnCosts();
  const cost::Pipeline pipeline = cost::Stated(experiment);
  const auto first = MakeVirtualExecutor();
  const auto second = first->Sharing();
  const std::string alone = Print(first->Run(experiment, pipeline, {}));
  EXPECT_GT(first->Events(), 0);
  EXPECT_EQ(second->Events(), 0);
  EXPECT_EQ(Print(second->Run(experiment, pipeline, {})), alone);
  EXPECT_EQ(second->Events(), first->Events());
}

TEST(ChunkSums, ServeNoRunWhoseHitsDependOnItsOrderOfReads) {
  spec::Experiment experiment = DrawnCosts();
  EXPECT_TRUE(ChunkSums::Serve(experiment, cost::Stated(experiment)));
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  EXPECT_FALSE(ChunkSums::Serve(experiment, cost::Stated(experiment)));
  experiment.storage.cache.policy = spec::CachePolicy::kNone;
  experiment.run.accelerators = 2;
  EXPECT_FALSE(ChunkSums::Serve(experiment, cost::Stated(experiment)));
}

}  // namespace
}  // namespace pipesim::engine
