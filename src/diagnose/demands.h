// The demands that the decision makes free in turn, each with the verdict that it names.
#pragma once

#include <array>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

enum class Demand {
  kStorage,     ///< waiting for storage, and its limits
  kLoadingCpu,  ///< prepare, collate, the CPU part of reads
  kTransfer,    ///< pin and copy to the device
  kLaunch,      ///< host work per step that feeds an asynchronous device
  kSync,        ///< host reads of device results
  kOtherHost,   ///< the training thread's own work where the device is synchronous
  kStep,        ///< the step itself
};
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

/// The scenario holds some of what `verdict` is about (a verdict on a demand).
bool IsThere(const Scenario& scenario, Verdict verdict);

/// Free storage, loading work and copies: the ceiling that the training itself sets.
Scenario FreeData(const Scenario& scenario);

}  // namespace pipesim::diagnose
