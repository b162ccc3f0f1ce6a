// The gain of a change from pairs of neighbouring measurements, so that drift cancels.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "measure/interval.h"

namespace pipesim::measure {

/// Rates of two neighbours: as it was, and with the change.
struct RatePair {
  double base = 0, changed = 0;
};

struct PairedGain {
  double gain = 0;  ///< geometric mean over the pairs of changed / base − 1
  std::optional<Interval> interval;  ///< by Student's t over the logarithms; nullopt: one pair
};

/// nullopt without a pair, or with a rate that is not positive. `method`: "pairs of runs".
std::optional<PairedGain> GainOf(std::span<const RatePair> pairs, std::string_view method);

/// Of a gain's logarithm, as its interval was made.
double LogHalfWidth(const Interval& gain_interval);

}  // namespace pipesim::measure
