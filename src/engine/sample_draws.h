// What was drawn for each sample, kept: a sample's cost is drawn once and the same every epoch, so
// that working it out again is wasted.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/random.h"

namespace pipesim::engine {

/// The draws of one stage, keyed by (seed, stage, sample), as whole nanoseconds or bytes; each is
/// worked out when it is first asked for. Any thread may ask, several at once: all draw the same.
class SampleDraws {
 public:
  /// Data sets of more samples than this are drawn anew each time.
  static constexpr std::int64_t kMostKept = std::int64_t{1} << 22;

  /// `keep`: takes 4 bytes for each sample, once it was asked for; what does not fit into 32 bits
  /// (4.3 s) is not kept.
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
  /// Whether these are the draws of such a stage.
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
  /// One more than was drawn; 0: not yet. Not a vector: pages that nobody asks for stay untouched.
  std::unique_ptr<std::uint32_t[], Free> kept_;
};

}  // namespace pipesim::engine
