// The costs of a finished run, as the virtual engine needs them to run it again and to try changes.
#pragma once

#include "cost/pipeline.h"
#include "measure/measurement.h"

namespace pipesim::measure {

/// `given`: the costs that the run was given; its emulated parts are exact and stay. Everything that
/// was done for real gets what the run measured: of `measurement.demands`, free of contention and
/// waiting, spread as the batches of `trace` were. What was not measured stays free.
cost::Pipeline Fit(const trace::RunTrace& trace, const Measurement& measurement,
                   const spec::Experiment& experiment, const cost::Pipeline& given);

}  // namespace pipesim::measure
