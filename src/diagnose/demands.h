// The demands that the decision makes free in turn, each with the verdict that it names.
#pragma once

#include <array>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

inline constexpr std::array kDemands = {Demand::kStorage, Demand::kLoadingCpu, Demand::kTransfer,
                                        Demand::kLaunch,  Demand::kSync,       Demand::kOtherHost,
                                        Demand::kStep};

Verdict VerdictOf(Demand demand);

/// The scenario with this demand times `factor`; 0 makes it free, limits included. A demand that is
/// not there (kLaunch on a CPU) changes nothing.
Scenario Scaled(Scenario scenario, Demand demand, double factor);
inline Scenario Free(const Scenario& scenario, Demand demand) {
  return Scaled(scenario, demand, 0);
}

/// The scenario holds some of this demand.
bool IsThere(const Scenario& scenario, Demand demand);

/// Free storage, loading work and copies: the ceiling that the training itself sets.
Scenario FreeData(const Scenario& scenario);

}  // namespace pipesim::diagnose
