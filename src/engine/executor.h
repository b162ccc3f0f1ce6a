// Running an experiment: the one interface behind which threads, or events in virtual time, do it.
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "cost/pipeline.h"
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
  std::int64_t occupancy = 0, capacity = 0;
};

/// What the caller wants to hear and to decide while a run goes on. Called from one thread of the
/// engine's, never two at once.
struct RunControl {
  const base::StopFlag* stop = nullptr;              ///< Ctrl-C: drain and report
  std::function<void(const Progress&)> on_progress;  ///< about five times a second; may be empty
  /// Before the run: what is being done and the share of it that is done; may be empty.
  std::function<void(std::string_view doing, double share)> on_preparing;
  /// Asked about ten times a second with the trace so far: has it seen enough, and why? nullopt: go
  /// on.
  std::function<std::optional<trace::EndReason>(const trace::RunTrace&, base::Instant now)> enough;
  bool keep_spans = false;  ///< record the spans of single batches (trace::TraceOptions)
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs to an end of its own: a failure inside the run is told in the trace (end_reason,
  /// failure), with all that was measured until then.
  /// `pipeline`: what the parts cost that are not done for real.
  virtual trace::RunTrace Run(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                              const RunControl& control) = 0;
};

}  // namespace pipesim::engine
