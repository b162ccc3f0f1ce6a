// Cores shared with other programs, and how the trainer's threads wait: the changes that the
// predictor is asked about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/levers.h"
#include "diagnose/question.h"
#include "diagnose/settings.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose {

inline constexpr std::string_view kWithoutOthers = "without the other programs";

/// Whether other programs take a share of the cores that is worth a warning: less is what every
/// machine does beside a run.
bool SharesCores(const cost::Machine& machine);

/// limits.omp_wait=passive: at a barrier the pool's threads sleep instead of spinning, and are woken.
/// nullopt where no pool spins, and where only the run's own workers share its cores: there what
/// sleeping leaves to them and what waking up costs are of one size, and measured gains were between
/// -20 % and +30 % where the model said +20 %.
std::optional<Setting> PassiveWait(const Variant& now);

/// limits.cpus: as many processors that stood idle beside the run, where other programs take some of
/// its own; nullopt where there are not enough.
std::optional<Setting> OtherCpus(const Variant& now);

/// The machine without other programs; nullopt where there are none.
std::optional<Setting> WithoutOtherPrograms(const Variant& now);

/// All of them, for the what-if table.
std::vector<Lever> SharedCoresLevers(const Question& question);

/// "other programs take 1.0 of 2 cores; without them training would be 20 times as fast", where that
/// gains enough to count, by its row; else empty.
std::string OthersClause(const Question& question, const std::vector<WhatIf>& rows);

}  // namespace pipesim::diagnose
