// Step time as a function of batch size: piecewise linear between measured batch sizes,
// extrapolated beyond them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Linear between measured batch sizes. Beyond them the line through the two nearest points goes on,
/// within limits: a larger batch takes neither less time per step nor more per sample, as a device
/// that is not full yet or one that is. With a single batch size, time is proportional. Immutable;
/// thread-safe.
class StepTable {
 public:
  /// Averages points of equal batch size. Throws std::invalid_argument when empty or when a batch
  /// has no samples.
  explicit StepTable(std::span<const spec::StepPoint> measured);

  /// Time of a step of `samples` > 0.
  base::Duration At(std::int64_t samples) const;
  /// Whether `samples` lies within the measured batch sizes.
  bool Covers(std::int64_t samples) const;
  /// Every step takes `factor` times as long.
  StepTable Scaled(double factor) const;
  bool operator==(const StepTable&) const = default;
  std::int64_t smallest() const { return points_.front().samples; }
  std::int64_t largest() const { return points_.back().samples; }

 private:
  std::vector<spec::StepPoint> points_;
};

}  // namespace pipesim::cost
