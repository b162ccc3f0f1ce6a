// Prepares one experiment on this machine, runs, measures and diagnoses it. Knows no command line
// and prints nothing.
#pragma once

#include <string>
#include <vector>

#include "base/cpus.h"
#include "engine/executor.h"
#include "report/report.h"
#include "spec/experiment.h"

namespace pipesim::app {

/// The training step is LibTorch's: the device is a real one, or `auto`.
bool NeedsTorch(const spec::Experiment& experiment);

/// Counts the samples and classes of a folder of real files; does nothing for other storage. Throws
/// base::ConfigError, base::EnvironmentError.
void CountSamples(spec::Experiment& experiment);

/// What of limits.cpus this process may not use, for a warning; empty: nothing. Throws
/// base::EnvironmentError when it may use none of them.
std::string CpusNotHere(const spec::Limits& limits, const base::CpuAllowance& allowed);

/// Turns `auto` into what this machine has (device, threads), counts a folder of real samples, pins
/// the process to its cores and sets OMP variables. Call before anything starts threads. Loads
/// LibTorch only if the device needs it. Returns the processors that this process may use and
/// limits.cpus leaves out. Throws base::ConfigError, base::EnvironmentError.
std::vector<int> PrepareMachine(spec::Experiment& experiment);

/// Runs it once and fills in the whole report except next_argv and context.argv. Call after
/// PrepareMachine. `kept`: where the trace goes.
report::RunReport RunOnce(const spec::Experiment& experiment, const engine::RunControl& control,
                          trace::RunTrace* kept = nullptr);

/// The same without a diagnosis.
measure::Measurement MeasureOnce(const spec::Experiment& experiment,
                                 const engine::RunControl& control);

/// The report of a run that failed before anything was measured.
report::RunReport NothingMeasured(const spec::Experiment& experiment);

/// Runs it run.repeats times with seeds seed, seed + 1, ... and returns the repeat of median
/// throughput, its interval taken over the repeats. A repeat that fails or is interrupted is the
/// last one and is returned as it is. `kept`: where the trace of the first repeat goes; only that
/// one keeps spans.
report::RunReport RunRepeats(const spec::Experiment& experiment, const engine::RunControl& control,
                             trace::RunTrace* kept = nullptr);

/// This program and this machine, now.
report::Context ReadContext();

}  // namespace pipesim::app
