// The demands that the decision makes free in turn, each with the verdict that it names.
#pragma once

#include <algorithm>
#include <array>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

/// In the order of the table of verdicts.
inline constexpr auto kDemands = [] {
  constexpr auto names_one = [](const VerdictRow& row) { return row.demand.has_value(); };
  std::array<Demand, std::count_if(kVerdicts.begin(), kVerdicts.end(), names_one)> demands{};
  std::size_t count = 0;
  for (const VerdictRow& row : kVerdicts)
    if (row.demand) demands[count++] = *row.demand;
  return demands;
}();

Verdict VerdictOf(Demand demand);

/// The variant with this demand times `factor`; 0 makes it free, limits included. Does nothing for
/// a demand that the variant lacks (kLaunch on a CPU).
Variant Scaled(Variant variant, Demand demand, double factor);
inline Variant Free(const Variant& variant, Demand demand) {
  return Scaled(variant, demand, 0);
}

/// Whether the variant has this demand.
bool IsThere(const Variant& variant, Demand demand);

/// With finished batches at hand: no workers, and free storage, loading work and copies. The upper
/// bound set by training alone.
Variant FreeData(const Variant& variant);
/// With a trainer that takes batches and does nothing: the upper bound set by the data alone.
Variant FreeCompute(const Variant& variant);

}  // namespace pipesim::diagnose
