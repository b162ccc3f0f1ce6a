// What the commands that end in a run's report have in common: reading what was asked for, and
// keeping, exporting and printing the report.
#pragma once

#include "app/command_line/arguments.h"
#include "app/process/handover.h"
#include "app/command_line/output.h"
#include "spec/experiment.h"

namespace pipesim::app {

/// The experiment of a request, its warnings on stderr. Throws as spec::ReadExperiment does.
spec::Experiment ReadAsked(const spec::Request& request);

/// What a run leaves besides its numbers: where to go next, and what the thresholds say.
Outcome OutcomeOf(const Arguments& arguments, report::RunReport report);

/// Keeps, exports and prints it. Whatever cannot be written, the rest is, and where the numbers are
/// to be had is said (base::EnvironmentError).
base::ExitCode Deliver(const Arguments& arguments, Exports& exports, const Outcome& outcome);

}  // namespace pipesim::app
