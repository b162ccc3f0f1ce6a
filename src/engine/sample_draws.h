// Caches the draws per sample, which are the same every epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/random.h"

namespace pipesim::engine {

/// The draws of one stage, keyed by (seed, stage, sample), as whole nanoseconds or bytes, each
/// computed on first use. Thread-safe: concurrent calls compute the same value.
class SampleDraws {
 public:
  /// Draws of larger data sets are not cached.
  static constexpr std::int64_t kMostKept = std::int64_t{1} << 22;

  /// `keep` enables the cache: 4 bytes per sample used. Values over 32 bits (4.3 s) are not cached.
  SampleDraws(const base::Distribution& distribution, std::uint64_t seed, base::Stage stage,
              std::int64_t samples, bool keep);
  std::int64_t operator()(std::int64_t sample) const {
    if (kept_ == nullptr) return Draw(sample);
    const std::atomic_ref<std::uint32_t> kept(kept_[sample]);
    const std::uint32_t known = kept.load(std::memory_order_relaxed);
    if (known != 0) [[likely]]
      return known - std::int64_t{1};
    const std::int64_t drawn = Draw(sample);
    if (drawn < UINT32_MAX)
      kept.store(static_cast<std::uint32_t>(drawn + 1), std::memory_order_relaxed);
    return drawn;
  }
  /// Whether these are the draws for the given distribution, seed and data set size.
  bool Are(const base::Distribution& distribution, std::uint64_t seed, std::int64_t samples) const {
    return samples_ == samples && seed_ == seed && distribution_ == distribution;
  }

 private:
  std::int64_t Draw(std::int64_t sample) const;

  base::Distribution distribution_;
  base::DistributionSampler sampler_;
  std::uint64_t seed_;
  base::Stage stage_;
  std::int64_t samples_;
  struct Free {
    void operator()(std::uint32_t* memory) const { std::free(memory); }
  };
  /// Value + 1; 0: not drawn yet. calloc instead of a vector leaves unused pages untouched.
  std::unique_ptr<std::uint32_t[], Free> kept_;
};

}  // namespace pipesim::engine
