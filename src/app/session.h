// One experiment made ready on this machine, run, measured and diagnosed: the walk of the data from
// left to right. Knows no command line and prints nothing.
#pragma once

#include <string>
#include <vector>

#include "engine/executor.h"
#include "report/report.h"
#include "spec/experiment.h"

namespace pipesim::app {

/// The training step is LibTorch's: the device is a real one, or `auto`.
bool NeedsTorch(const spec::Experiment& experiment);

/// The trace of a run that ended at `at`, before anything happened in it.
trace::RunTrace TraceOfNothing(base::Instant at, trace::EndReason why, std::string failure = {});

/// Fills in what only a folder of real samples can tell; nothing for other storage. Throws
/// base::ConfigError, base::EnvironmentError.
void CountSamples(spec::Experiment& experiment);

/// Turns `auto` into what this machine has (device, threads), counts a folder of real samples, pins
/// the process to its cores and sets OMP variables. Call before anything starts threads. Loads
/// LibTorch only if the device needs it. Throws base::ConfigError, base::EnvironmentError.
void PrepareMachine(spec::Experiment& experiment);

/// Runs it once and says everything but where the command line leads (next_argv) and who ran it
/// (context.argv). Call after PrepareMachine.
report::RunReport RunOnce(const spec::Experiment& experiment, const engine::RunControl& control);

/// The same without a diagnosis.
measure::Measurement MeasureOnce(const spec::Experiment& experiment,
                                 const engine::RunControl& control);

/// What would be reported of it if it failed before anything was measured.
report::RunReport NothingMeasured(const spec::Experiment& experiment);

/// Runs it run.repeats times with seeds seed, seed + 1, ... and returns the repeat of median
/// throughput, its interval taken over the repeats. A repeat that fails or is interrupted is the
/// last one and is returned as it is.
report::RunReport RunRepeats(const spec::Experiment& experiment, const engine::RunControl& control);

/// This program and this machine, now.
report::Context ReadContext();

}  // namespace pipesim::app
