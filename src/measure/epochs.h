// What is known of a run's epochs.
#pragma once

#include <cstdint>
#include <optional>

namespace pipesim::measure {

struct EpochResult {
  std::int64_t index = 0;
  double samples_per_s = 0;
  double time_to_first_batch_s = 0;
  double starved_fraction = 0;
  /// Share of the epoch's reads that hit the cache. Emulated: counted, nullopt without a cache.
  /// Real files: the share of bytes not read from a block device; nullopt if the kernel does not
  /// count.
  std::optional<double> cache_hit_fraction;
};

/// Epochs first ... last, both counted.
struct EpochRange {
  std::int64_t first = 0, last = 0;
  bool operator==(const EpochRange&) const = default;
};

/// Neighbouring whole epochs of one kind: their hit fractions are within 5 points, plus four
/// standard errors, of the last epoch's.
struct EpochKind {
  EpochRange epochs;
  double hit_fraction = 0;   ///< of the last
  double samples_per_s = 0;  ///< over all
};

}  // namespace pipesim::measure
