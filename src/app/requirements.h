// --expect and --require: what turns a report into a pass or a failure.
#pragma once

#include <string>
#include <vector>

#include "app/command_line/arguments.h"
#include "base/error.h"
#include "diagnose/diagnosis.h"

namespace pipesim::app {

struct Requirements {
  std::optional<diagnose::Verdict> expect;
  struct Limit {
    std::string text;    ///< as typed
    std::string metric;  ///< "au" or "samples_per_s"
    bool at_least = true;
    double value = 0;
  };
  std::vector<Limit> limits;
};

enum class LimitKind { kLower, kEither };
/// Throws base::UsageError, naming the flag, for a text that is no limit, or not of the kind that the flag takes.
Requirements::Limit ReadLimit(std::string_view flag, const std::string& text,
                              LimitKind kind = LimitKind::kEither);

/// Throws base::UsageError for an unknown verdict or an invalid limit.
Requirements ReadRequirements(const Arguments& arguments);

struct RequirementResult {
  base::ExitCode code = base::ExitCode::kOk;  ///< kOk, kThresholdMissed or kUndecided
  std::vector<std::string> lines;             ///< one for each requirement that was not met
};

/// kThresholdMissed wins over kUndecided. A limit inside the throughput's interval is undecided.
RequirementResult CheckRequirements(const Requirements& requirements,
                                    const measure::Measurement& measurement,
                                    const diagnose::Diagnosis& diagnosis);

}  // namespace pipesim::app
