// The demands that the decision makes free in turn, each with the verdict that it names.
#pragma once

#include <array>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

inline constexpr std::array kDemands = {Demand::kStorage, Demand::kLoadingCpu, Demand::kTransfer,
                                        Demand::kLaunch,  Demand::kSync,       Demand::kOtherHost,
                                        Demand::kStep};

Verdict VerdictOf(Demand demand);

/// The variant with this demand times `factor`; 0 makes it free, limits included. A demand that is
/// not there (kLaunch on a CPU) changes nothing.
Variant Scaled(Variant variant, Demand demand, double factor);
inline Variant Free(const Variant& variant, Demand demand) {
  return Scaled(variant, demand, 0);
}

/// The variant holds some of this demand.
bool IsThere(const Variant& variant, Demand demand);

/// Free storage, loading work and copies: the ceiling that the training itself sets.
Variant FreeData(const Variant& variant);

}  // namespace pipesim::diagnose
