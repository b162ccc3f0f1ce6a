// Runs whose epochs find the cache cold, then warm.
#include "measure/cache_kinds.h"

#include <gtest/gtest.h>

#include "facts_of.h"
#include "measured.h"

namespace pipesim::measure {
namespace {

using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;

/// Epochs of 50 steps of 64 samples. In the cold ones nothing hits and a step takes 10 ms, in the
/// warm ones `hits` and 2 ms.
Pipeline ColdThenWarm(std::int64_t cold_epochs, std::int64_t steps, double hits = 0.9) {
  Pipeline pipeline{.workers = 0, .steps = steps, .epoch_batches = 50};
  pipeline.read = pipeline.forward = Ms(1);
  pipeline.extra = [=](std::int64_t step) { return Ms(step / 50 < cold_epochs ? 8 : 0); };
  pipeline.hits = [=](std::int64_t epoch) { return epoch < cold_epochs ? 0 : hits; };
  return pipeline;
}

spec::Experiment Cached(const Pipeline& pipeline) {
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  experiment.storage.cache.size = {1000};
  return experiment;
}

Measurement MeasuredCached(const Pipeline& pipeline) {
  return Measured(TraceOf(pipeline), Cached(pipeline));
}

TEST(CacheKinds, OnlyTheWarmEpochsAreMeasured) {
  const Measurement m = MeasuredCached(ColdThenWarm(1, 200));
  EXPECT_EQ(m.result.judged_epochs, (EpochRange{1, 2}));  // the fourth was not seen to its end
  EXPECT_EQ(m.result.steps, 100);
  EXPECT_NEAR(*m.result.samples_per_s, 64 / 0.002, 1);
  EXPECT_NEAR(*m.result.epochs[0].cache_hit_fraction, 0, 1e-9);
  EXPECT_NEAR(*m.result.epochs[1].cache_hit_fraction, 0.9, 0.01);
  EXPECT_EQ(m.demands.reads, 6) << "64 samples, 58 of them hits";
}

TEST(CacheKinds, AreToldApartInAWarningThatNamesTheirRates) {
  const auto mixed = FactsOf<warnings::MixedCache>(MeasuredCached(ColdThenWarm(1, 200)));
  ASSERT_TRUE(mixed);
  ASSERT_EQ(mixed->kinds.size(), 2U);
  EXPECT_EQ(mixed->kinds[0].epochs, (EpochRange{0, 0}));
  EXPECT_NEAR(mixed->kinds[0].hit_fraction, 0, 0.005);
  EXPECT_NEAR(mixed->kinds[0].samples_per_s, 6400, 0.5);
  EXPECT_EQ(mixed->kinds[1].epochs, (EpochRange{1, 2}));
  EXPECT_NEAR(mixed->kinds[1].hit_fraction, 0.91, 0.005);
  EXPECT_NEAR(mixed->kinds[1].samples_per_s, 32000, 0.5);
  EXPECT_EQ(mixed->judged, (EpochRange{1, 2}));
}

TEST(CacheKinds, OfEpochsThatHitAlikeAreOne) {
  const Measurement m = MeasuredCached(ColdThenWarm(0, 200, 0.5));
  // The warm-up cuts the first.
  EXPECT_EQ(m.result.judged_epochs, (EpochRange{1, 2}));
  EXPECT_FALSE(FactsOf<warnings::MixedCache>(m));
  EXPECT_FALSE(FactsOf<warnings::ColdCache>(m));
}

TEST(CacheKinds, ARunWithinItsFirstEpochSaysThatTheCacheWasFilling) {
  const Measurement m = MeasuredCached(ColdThenWarm(1, 40));
  EXPECT_FALSE(m.result.judged_epochs);
  EXPECT_TRUE(FactsOf<warnings::ColdCache>(m));
}

TEST(CacheKinds, APartOfAnEpochIsNotMeasuredBesideAWholeOne) {
  const Measurement m = MeasuredCached(ColdThenWarm(1, 70));
  EXPECT_EQ(m.result.judged_epochs, (EpochRange{0, 0}));
  EXPECT_NEAR(*m.result.samples_per_s, 6400, 1);
  EXPECT_TRUE(FactsOf<warnings::ColdCache>(m));
}

TEST(CacheKinds, WithoutACacheTheWindowDoesNotGoByEpochs) {
  const Pipeline pipeline = ColdThenWarm(0, 200, 0);
  const Measurement m = Measured(pipeline);
  EXPECT_FALSE(m.result.judged_epochs);
  EXPECT_FALSE(m.result.epochs[0].cache_hit_fraction);
}

/// Samples each 10 ms of what was fetched from the device: all that was read in cold epochs.
trace::RunTrace RealFiles(const Pipeline& pipeline) {
  trace::RunTrace trace = TraceOf(pipeline);
  for (base::Instant at = trace.begin; at <= trace.end; at += Ms(10)) {
    double fetched = 0;
    for (const trace::EpochRecord& epoch : trace.epochs) {
      const double share = std::clamp(
          base::ToSeconds(at - epoch.begin) / base::ToSeconds(epoch.end - epoch.begin), 0.0, 1.0);
      fetched += share * (epoch.epoch == 0 ? 1 : 0.1) * static_cast<double>(epoch.bytes.count);
    }
    trace::ResourceSample sample;
    sample.at = at;
    sample.fetched = base::Bytes{static_cast<std::int64_t>(fetched)};
    trace.resources.push_back(sample);
  }
  return trace;
}

TEST(CacheKinds, OfRealFilesFollowFromWhatTheDeviceDelivered) {
  Pipeline pipeline = ColdThenWarm(1, 200);
  pipeline.hits = {};  // a real read does not say whether it hit
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.kind = spec::StorageKind::kFiles;
  const Measurement m = Measured(RealFiles(pipeline), experiment);
  EXPECT_NEAR(*m.result.epochs[0].cache_hit_fraction, 0, 0.02);
  EXPECT_NEAR(*m.result.epochs[1].cache_hit_fraction, 0.9, 0.1);
  EXPECT_EQ(m.result.judged_epochs, (EpochRange{1, 2}));
  const auto mixed = FactsOf<warnings::MixedCache>(m);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->kinds[0].epochs, (EpochRange{0, 0}));
}

TEST(CacheKinds, OfRealFilesAreUnknownWhereTheKernelDoesNotSay) {
  Pipeline pipeline = ColdThenWarm(1, 200);
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.kind = spec::StorageKind::kFiles;
  const Measurement m = Measured(TraceOf(pipeline), experiment);
  EXPECT_FALSE(m.result.epochs[0].cache_hit_fraction);
  EXPECT_FALSE(m.result.judged_epochs);
}

}  // namespace
}  // namespace pipesim::measure
