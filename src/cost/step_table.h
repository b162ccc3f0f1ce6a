// A training step by its measured times at some batch sizes: piecewise linear between them, and a
// plain rule beyond. Knows nothing of where the times are from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Beyond the largest batch a sample costs what it costs there: a device that is full stays full.
/// Below the smallest, the line of the first two goes on, but no sample gets cheaper than in the
/// smallest batch and no step dearer than it; with one batch size alone time is in proportion.
/// Immutable; thread-safe.
class StepTable {
 public:
  /// Sorts by samples; of equal batch sizes the mean counts. Throws std::invalid_argument when empty
  /// or when a batch has no samples.
  explicit StepTable(std::span<const spec::StepPoint> measured);

  /// Time of a step of `samples` > 0.
  base::Duration At(std::int64_t samples) const;
  /// Whether `samples` lies between batch sizes that were measured.
  bool Covers(std::int64_t samples) const;
  std::int64_t smallest() const { return points_.front().samples; }
  std::int64_t largest() const { return points_.back().samples; }

 private:
  std::vector<spec::StepPoint> points_;
};

}  // namespace pipesim::cost
