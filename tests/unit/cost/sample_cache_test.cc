#include "cost/sample_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <list>
#include <map>

#include "base/random.h"
#include "base/stats.h"

namespace pipesim::cost {
namespace {

using base::Bytes;
using spec::CachePolicy;

constexpr std::int64_t kSampleBytes = 1000;

/// A cache with room for `share` of `samples` samples of 1,000 bytes.
spec::Experiment Cached(CachePolicy policy, double share, std::int64_t samples = 10'000) {
  spec::Experiment experiment;
  experiment.dataset.samples = samples;
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(kSampleBytes)};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.cache = {
      .policy = policy,
      .size = {std::llround(share * static_cast<double>(samples)) * kSampleBytes},
      .warm = 0,
      .hit_bandwidth = {}};
  return experiment;
}

std::optional<SampleCache> CacheOf(const spec::Experiment& experiment) {
  const auto size_of = [stored = experiment.dataset.sample_bytes,
                        seed = experiment.run.seed](std::int64_t sample) {
    return StoredBytes(stored, seed, sample);
  };
  return SampleCache::Of(experiment, Stated(experiment), size_of);
}

/// The share of hits in each epoch, read in the order of the experiment's loader.
std::vector<double> EpochHits(const spec::Experiment& experiment, int epochs) {
  SampleCache cache = *CacheOf(experiment);
  const std::int64_t samples = experiment.dataset.samples;
  std::vector<double> shares;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const base::Shuffle shuffle(experiment.run.seed, static_cast<std::uint64_t>(epoch),
                                static_cast<std::uint64_t>(samples));
    std::int64_t hits = 0;
    for (std::int64_t at = 0; at < samples; ++at) {
      const std::int64_t sample =
          experiment.loader.shuffle
              ? static_cast<std::int64_t>(shuffle(static_cast<std::uint64_t>(at)))
              : at;
      const Bytes bytes = StoredBytes(experiment.dataset.sample_bytes, experiment.run.seed, sample);
      hits += cache.Access(sample, bytes, epoch, at);
    }
    shares.push_back(static_cast<double>(hits) / static_cast<double>(samples));
  }
  return shares;
}

/// Mean over all epochs but the first, which fills the cache, against `expected` within four
/// standard errors.
void ExpectMean(std::vector<double> shares, double expected) {
  shares.erase(shares.begin());
  const double error = base::Stdev(shares) / std::sqrt(static_cast<double>(shares.size()));
  EXPECT_NEAR(base::Mean(shares), expected, 4 * error);
  EXPECT_LT(error, 0.002) << "too few epochs to tell anything";
}

class CacheShare : public testing::TestWithParam<double> {};

TEST_P(CacheShare, LruOverFreshShufflesHitsCPlusRestTimesLogOfRest) {
  // A sample read at the place x of an epoch (0..1) and y of the next has (1 - x) + y x others
  // between: it hits when these are fewer than c. Over uniform x and y: c + (1 - c) ln(1 - c).
  const double c = GetParam();
  ExpectMean(EpochHits(Cached(CachePolicy::kLru, c), 41), c + (1 - c) * std::log(1 - c));
}

TEST_P(CacheShare, AnyReadOfAnySampleHitsC) {
  const double c = GetParam();
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kRandom}) {
    SampleCache cache = *CacheOf(Cached(policy, c));
    base::KeyedStream stream(7, base::Stage::kShuffle);
    std::vector<double> shares;
    for (int part = 0; part < 21; ++part) {
      std::int64_t hits = 0;
      for (std::int64_t at = 0; at < 20'000; ++at) {
        const auto sample = static_cast<std::int64_t>(stream.NextUnit() * 10'000);
        hits += cache.Access(sample, Bytes{kSampleBytes}, part, at);
      }
      shares.push_back(static_cast<double>(hits) / 20'000);
    }
    shares.erase(shares.begin(), shares.begin() + 5);  // it fills: 1 - exp(-2 x 5) of all were read
    ExpectMean(shares, c);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, CacheShare, testing::Values(0.1, 0.25, 0.5, 0.75, 0.9),
                         [](const auto& param) {
                           return std::to_string(std::lround(param.param * 100)) + "Percent";
                         });

TEST(SampleCache, OfHalfTheDataSetHitsFifteenPercentUnderLru) {
  EXPECT_NEAR(EpochHits(Cached(CachePolicy::kLru, 0.5), 2)[1], 0.153, 0.02);
}

TEST(SampleCache, LruOverTheSameOrderEachEpochNeverHits) {
  spec::Experiment experiment = Cached(CachePolicy::kLru, 0.9);
  experiment.loader.shuffle = false;
  EXPECT_EQ(EpochHits(experiment, 3), (std::vector<double>{0, 0, 0}));
}

TEST(SampleCache, ThatHoldsAllHitsAllFromTheSecondEpochOn) {
  EXPECT_EQ(EpochHits(Cached(CachePolicy::kLru, 1), 3), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(EpochHits(Cached(CachePolicy::kRandom, 1), 3), (std::vector<double>{0, 1, 1}));
}

TEST(SampleCache, WarmToAShareHitsThatShareOfWhatItHolds) {
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kRandom}) {
    spec::Experiment experiment = Cached(policy, 1);
    experiment.storage.cache.warm = 0.25;
    EXPECT_EQ(EpochHits(experiment, 2), (std::vector<double>{0.25, 1}));
  }
}

TEST(SampleCache, ThatIsWarmBeginsAsAnEpochBeforeTheRunWouldHaveLeftIt) {
  // So the first epoch hits like every other.
  constexpr double c = 0.5, expected = c + (1 - c) * -0.69314718;
  spec::Experiment experiment = Cached(CachePolicy::kLru, c);
  experiment.storage.cache.warm = 1;
  std::vector<double> first;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    experiment.run.seed = seed;
    first.push_back(EpochHits(experiment, 1)[0]);
  }
  EXPECT_NEAR(base::Mean(first), expected, 4 * base::Stdev(first) / std::sqrt(20.0));

  experiment.loader.shuffle = false;
  EXPECT_EQ(EpochHits(experiment, 1)[0], 0) << "the last samples in order, the first to go";
}

TEST(SampleCache, DependsOnTheSeedAlone) {
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kRandom}) {
    spec::Experiment experiment = Cached(policy, 0.3, 1000);
    experiment.storage.cache.warm = 0.5;
    const std::vector<double> once = EpochHits(experiment, 5);
    EXPECT_EQ(EpochHits(experiment, 5), once);
    experiment.run.seed = 2;
    EXPECT_NE(EpochHits(experiment, 5), once);
  }
}

TEST(SampleCache, DoesNotKeepASampleLargerThanItself) {
  spec::Experiment experiment = Cached(CachePolicy::kLru, 1, 10);
  experiment.storage.cache.size = {kSampleBytes - 1};
  EXPECT_EQ(EpochHits(experiment, 3), (std::vector<double>{0, 0, 0}));
}

TEST(SampleCache, IsThereOnlyBeforeEmulatedStorageWithAPolicy) {
  spec::Experiment experiment = Cached(CachePolicy::kLru, 1);
  EXPECT_TRUE(CacheOf(experiment));
  experiment.storage.cache.policy = CachePolicy::kNone;
  EXPECT_FALSE(CacheOf(experiment));
  experiment = Cached(CachePolicy::kLru, 1);
  experiment.storage.kind = spec::StorageKind::kFiles;
  EXPECT_FALSE(CacheOf(experiment));
}

TEST(SampleCache, NeedNotDecideWhereItBeginsWithAllSamples) {
  spec::Experiment experiment = Cached(CachePolicy::kLru, 1);
  const auto every_read_hits = [&] { return EveryReadHits(experiment, Stated(experiment)); };
  EXPECT_FALSE(every_read_hits()) << "it is cold";
  experiment.storage.cache.warm = 1;
  EXPECT_TRUE(every_read_hits());
  EXPECT_FALSE(CacheOf(experiment));
  experiment.storage.cache.warm = 0.5;
  experiment.storage.cache.size.count *= 2;
  EXPECT_TRUE(every_read_hits()) << "half of it is enough";
  experiment.storage.cache.size.count -= 2;
  EXPECT_FALSE(every_read_hits()) << "a byte is missing";
  EXPECT_TRUE(CacheOf(experiment));
  experiment.storage.cache.size.count *= 2;
  experiment.dataset.sample_bytes = {
      {.kind = base::DistributionKind::kUniform, .low = 1, .high = kSampleBytes}};
  EXPECT_FALSE(every_read_hits()) << "sizes are drawn";
}

/// The same by search through a list.
struct SlowLru {
  std::list<std::int64_t> held;  ///< the latest first
  std::map<std::int64_t, std::int64_t> bytes_of;
  std::int64_t used = 0, size = 0;

  bool Access(std::int64_t sample, std::int64_t bytes) {
    const bool hit = bytes_of.contains(sample);
    if (hit) held.remove(sample);
    if (!hit && bytes > size) return false;
    for (; !hit && used + bytes > size; held.pop_back()) {
      used -= bytes_of.at(held.back());
      bytes_of.erase(held.back());
    }
    if (!hit) used += bytes_of[sample] = bytes;
    held.push_front(sample);
    return hit;
  }
};

RC_GTEST_PROP(SampleCacheProperty, NeverHoldsMoreThanItsSizeAndLruIsLru, ()) {
  const bool lru = *rc::gen::arbitrary<bool>();
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 40);
  spec::Experiment experiment = Cached(lru ? CachePolicy::kLru : CachePolicy::kRandom, 1, samples);
  experiment.dataset.sample_bytes = {
      {.kind = base::DistributionKind::kUniform, .low = 0, .high = 100}};
  experiment.storage.cache.size = {*rc::gen::inRange<std::int64_t>(1, 2000)};
  experiment.storage.cache.warm = lru ? 0 : *rc::gen::inRange(0, 5) * 0.25;
  SampleCache cache = *CacheOf(experiment);
  RC_ASSERT(static_cast<double>(cache.used().count) <=
            experiment.storage.cache.warm *
                static_cast<double>(experiment.storage.cache.size.count));
  SlowLru slow{.held = {}, .bytes_of = {}, .size = experiment.storage.cache.size.count};
  const auto reads =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, samples));
  std::int64_t at = 0;
  for (const std::int64_t sample : reads) {
    const Bytes bytes = StoredBytes(experiment.dataset.sample_bytes, experiment.run.seed, sample);
    const bool hit = cache.Access(sample, bytes, 0, at++);
    RC_ASSERT(cache.used() <= experiment.storage.cache.size);
    if (lru) {
      RC_ASSERT(hit == slow.Access(sample, bytes.count));
      RC_ASSERT(cache.used().count == slow.used);
    }
  }
}

}  // namespace
}  // namespace pipesim::cost
