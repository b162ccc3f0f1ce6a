// Clauses that several verdicts' pages share: a headline's "what limits training", and evidence
// with the JSON field that each number was taken from. A clause without its number is left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/findings.h"

namespace pipesim::diagnose {

using Clauses = std::vector<Evidence>;

/// "training"; with several accelerators "training on 8 accelerators".
std::string Training(const Question& question);
/// "storage limits training; the GPU is 28 % busy" for "storage limits".
std::string Limits(std::string_view what, const Question& question);

/// "BEFORE 75 % AFTER" for a time out of a wall time.
void AddShare(Clauses& clauses, std::string field, double seconds, double wall_s,
              std::string_view before, std::string_view after);
/// How long training waits for data.
void AddStarved(Clauses& clauses, const measure::Measurement& measurement);
/// A share of the workers' time; at 0 workers, of the training loop's time, which then loads.
void AddLoadingPart(Clauses& clauses, const measure::Measurement& measurement, std::string field,
                    double seconds, std::string_view what);
/// "BEFORE +0.3 %", pointing at the row of the what-if table.
void AddGain(Clauses& clauses, const std::vector<WhatIf>& rows, std::optional<std::size_t> row,
             std::string_view before);
/// The same of a gain that does not count: "BEFORE only +0.3 %", or "BEFORE nothing".
void AddLittleGain(Clauses& clauses, const std::vector<WhatIf>& rows, std::optional<std::size_t> row,
                   std::string_view before);
/// The gain of the decision's setting.
void AddSettingGain(Clauses& clauses, const Findings& findings);
/// Taking batches over from worker processes, as a share of each step.
void AddReceiving(Clauses& clauses, const measure::Consumer& consumer);
/// The host's own work, as a share of each step.
void AddHostWork(Clauses& clauses, const measure::Measurement& measurement);

}  // namespace pipesim::diagnose
