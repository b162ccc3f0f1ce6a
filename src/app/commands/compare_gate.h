// What turns a comparison into a pass or a failure: --fail-on-regression, --expect, --require.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command_line/arguments.h"
#include "app/requirements.h"
#include "compare/comparison.h"

namespace pipesim::app {

struct CompareGate {
  std::optional<double> threshold;      ///< of --fail-on-regression
  std::optional<compare::Call> expect;  ///< --expect faster
  Requirements requirements;            ///< of every side but the first
};

/// Throws base::UsageError, naming the flag.
CompareGate ReadCompareGate(const Arguments& arguments);

/// kThresholdMissed wins over kUndecided.
RequirementResult CheckGate(const CompareGate& gate, const std::vector<compare::Side>& sides,
                            const std::vector<compare::Comparison>& comparisons);

}  // namespace pipesim::app
