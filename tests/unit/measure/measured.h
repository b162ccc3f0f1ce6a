// Measures traces of runs that were given no costs beyond what their experiments state.
#pragma once

#include "measure/measurement.h"
#include "support/trace_builder.h"

namespace pipesim::measure {

inline Measurement Measured(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  return Measure(trace, experiment, cost::Stated(experiment));
}
inline Measurement Measured(const tests::Pipeline& pipeline) {
  return Measured(tests::TraceOf(pipeline), tests::ExperimentOf(pipeline));
}

/// 64 reads of 1,000 bytes a batch; the run's 30 ms contain the wait behind other workers.
inline tests::Pipeline Reading() {
  return {.workers = 4, .read = tests::Ms(30), .forward = tests::Ms(1)};
}

}  // namespace pipesim::measure
