// Shared by the commands that end in a report: reading the experiment, and keeping, exporting and
// printing the report.
#pragma once

#include "app/command_line/arguments.h"
#include "app/process/handover.h"
#include "app/command_line/output.h"
#include "spec/experiment.h"

namespace pipesim::app {

/// The experiment of a request, its warnings on stderr. Throws as spec::ReadExperiment does.
spec::Experiment ReadAsked(const spec::Request& request);

/// The report as a document, with the recommended command, and the result of --expect and
/// --require.
Outcome OutcomeOf(const Arguments& arguments, report::RunReport report);

/// Exports and prints a document that is not kept. If one of these fails, the others are still
/// done; then throws base::EnvironmentError.
void ExportAndPrint(const Arguments& arguments, Exports& exports, const report::Document& document);

/// Keeps, exports and prints the report. If one of these fails, the others are still done; then
/// throws base::EnvironmentError, which names the kept file. `spans`: for an export of them.
base::ExitCode Deliver(const Arguments& arguments, Exports& exports, const Outcome& outcome,
                       const SpansText& spans = {});

}  // namespace pipesim::app
