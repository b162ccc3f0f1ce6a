// The part of a measurement that a verdict rests on, for predictions of which no report is made.
#pragma once

#include "measure/measurement.h"

namespace pipesim::measure {

/// As Measure, without what only reports show: the quantiles of step times, the queue's use,
/// copies, samples and the lines over time stay empty, and so do the warnings, except those of a
/// run in which nothing was measured. Reads no series of steps (trace::TraceOptions::step_series).
Measurement MeasureForVerdict(const trace::RunTrace& trace, const spec::Experiment& experiment,
                              const cost::Pipeline& pipeline);

}  // namespace pipesim::measure
