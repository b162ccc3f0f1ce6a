// Experiments answered in virtual time: what each part costs is looked up (the experiment, a machine
// profile, a measured run), then the virtual engine runs the pipeline and the report is made as of
// any run. Measures nothing, loads no LibTorch, prints nothing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/measured_run.h"
#include "base/clock.h"
#include "base/memory.h"
#include "report/report.h"
#include "spec/machine_profile.h"

namespace pipesim::app {

/// What predictions rest on beside the experiments themselves.
struct Basis {
  spec::MachineProfile profile;
  /// It was asked for: its cores and memory are meant, not this machine's.
  bool profile_is_named = false;
  std::optional<MeasuredRun> run;  ///< its demands come before the profile's figures
  double cores_here = 1;
  std::vector<base::MemoryBound> memory_here;
};

/// One experiment, once; its context is left empty. The same for the same experiment and basis, on
/// any thread and machine. Throws base::ConfigError for a part that has no cost, with the remedy.
report::RunReport Predict(const spec::Experiment& experiment, const Basis& basis,
                          const base::StopFlag* stop);

/// Each of them, side by side on all cores; results in the order of `experiments`, the same on any
/// number of threads. What one of them throws is thrown.
std::vector<report::RunReport> PredictAll(std::span<const spec::Experiment> experiments,
                                          const Basis& basis, const base::StopFlag* stop);

/// run.repeats times with seeds seed, seed + 1, ...; as RunRepeats.
report::RunReport PredictRepeats(const spec::Experiment& experiment, const Basis& basis,
                                 const base::StopFlag* stop);

}  // namespace pipesim::app
