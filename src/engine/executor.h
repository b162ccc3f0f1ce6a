// The interface for running an experiment: on real threads, or as events in virtual time.
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "cost/pipeline.h"
#include "engine/probe_plan.h"
#include "spec/experiment.h"
#include "trace/run_trace.h"

namespace pipesim::engine {

/// What a progress line shows.
struct Progress {
  base::Duration elapsed{};
  std::int64_t steps = 0, samples = 0;
  double samples_per_s = 0;  ///< over the last second or so
  double starved = 0;        ///< share of the last second or so
  std::optional<double> device_busy;
  /// device_busy counts the gaps between the kernels of a step: on a real GPU, whose step is timed alone after the run.
  bool busy_has_gaps = false;
  std::int64_t occupancy = 0, capacity = 0;
};

/// The caller's callbacks during a run. All are called from one thread of the engine at a time.
struct RunControl {
  const base::StopFlag* stop = nullptr;              ///< Ctrl-C: drain and report
  std::function<void(const Progress&)> on_progress;  ///< about five times a second; may be empty
  /// Progress of the preparation before the run: what is done, and the share completed. May be
  /// empty.
  std::function<void(std::string_view doing, double share)> on_preparing;
  /// Called about ten times a second with the trace so far. Returns why the run may end, or nullopt
  /// to go on.
  std::function<std::optional<trace::EndReason>(const trace::RunTrace&, base::Instant now)> enough;
  /// Only measure::SteadyWindow is asked for: the virtual engine records no more than it reads
  /// (TraceOptions::only_rate), by coarser buckets.
  bool only_rate = false;
  /// Only measure::MeasureForVerdict is asked for: the virtual engine leaves out the series of
  /// steps (TraceOptions::step_series).
  bool for_verdict = false;
  /// About how long the run lasts, rather too short: where known, the virtual engine's buckets need not
  /// grow to their width one by one (TraceOptions::lasts).
  base::Duration lasts{};
  /// Called once when the measured part is over, with its trace, while loading is parked; the
  /// consumer's thread waits for the answer. What the plan names is then tried before the run ends
  /// (RunTrace::probes); nullopt: nothing. Empty: the run ends at once. Not of predictions.
  std::function<std::optional<ProbePlan>(const trace::RunTrace&)> plan_probes;
  /// The virtual engine may skip what repeats itself exactly. The trace is the same.
  bool skip_periods = true;
  /// Processors that this process may use and limits.cpus leaves out: the threaded engine sees which
  /// of them stay idle (Effective::idle_cpus).
  std::vector<int> spare_cpus = {};
  bool force = false;       ///< begin even where memory will not suffice by the estimate
  bool keep_spans = false;  ///< record the spans of single batches (trace::TraceOptions)
  bool mark_stages = false;  ///< for a profiler that is attached (engine/stage_marks.h)
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs until the run ends. A failure inside the run is reported in the trace (end_reason,
  /// failure), with everything measured until then. `pipeline`: the costs of the emulated parts.
  virtual trace::RunTrace Run(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                              const RunControl& control) = 0;
};

}  // namespace pipesim::engine
