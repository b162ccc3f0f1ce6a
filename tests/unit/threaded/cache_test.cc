// The emulated cache with real workers.
#include <gtest/gtest.h>

#include <cmath>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

/// 2,400 samples of 100 bytes behind an LRU cache for `share` of them, two workers.
spec::Experiment Cached(double share) {
  spec::Experiment experiment = Small();
  experiment.dataset.samples = 2400;
  experiment.dataset.sample_bytes = FixedBytes(100);
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.cache = {.policy = spec::CachePolicy::kLru,
                              .size = {std::llround(share * 2400) * 100},
                              .warm = 0,
                              .hit_bandwidth = {}};
  experiment.loader.batch_size = 24;
  experiment.loader.workers = 2;
  experiment.run.epochs = 3;
  return experiment;
}

TEST(EmulatedCache, IsFilledInTheFirstEpochAndHitsFromTheSecondOn) {
  const trace::RunTrace trace = RunEmulated(Cached(1));
  ASSERT_EQ(trace.epochs.size(), 3u);
  EXPECT_EQ(trace.epochs[0].reads, 2400);
  EXPECT_EQ(trace.epochs[0].cache_hits, 0);
  for (const std::size_t epoch : {1u, 2u}) {
    EXPECT_EQ(trace.epochs[epoch].reads, 0);
    EXPECT_EQ(trace.epochs[epoch].cache_hits, 2400);
  }
  EXPECT_EQ(trace.resources.back().storage_reads, 2400) << "hits do not reach the storage";
}

TEST(EmulatedCache, OfHalfTheDataSetMatchesTheClosedForm) {
  // c + (1 - c) ln(1 - c) = 0.153; workers overtake one another by a few of 2,400 samples.
  const trace::RunTrace trace = RunEmulated(Cached(0.5));
  for (const std::size_t epoch : {1u, 2u}) {
    EXPECT_NEAR(static_cast<double>(trace.epochs[epoch].cache_hits) / 2400, 0.153,
                4 * std::sqrt(0.153 * 0.847 / 2400) + 0.01);
  }
}

TEST(EmulatedCache, SpendsCpuTimeOnCopiesOfHits) {
  // A warm epoch of 0.24 MB at 1 MB/s: 240 ms of CPU time in state read.
  spec::Experiment experiment = Cached(1);
  experiment.storage.cache.warm = 1;
  experiment.storage.cache.hit_bandwidth = base::BytesPerSecond{1e6};
  experiment.run.epochs = 1;
  const trace::RunTrace trace = RunEmulated(experiment);
  EXPECT_GE(base::ToSeconds(trace.resources.back().process_cpu), 0.239);
  EXPECT_NEAR(base::ToSeconds(TotalIn(trace, Role::kWorker, State::kRead)), 0.24, 0.05);
  const trace::Reservoir& cpu = trace.series[static_cast<std::size_t>(trace::Series::kReadCpuTime)];
  ASSERT_EQ(cpu.seen, 100);
  for (const trace::Sampled& batch : cpu.kept) EXPECT_EQ(batch.value, 2.4e6);
}

}  // namespace
}  // namespace pipesim::engine
