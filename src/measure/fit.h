// The costs of a finished run, as the virtual engine needs them to run it again and to try changes.
#pragma once

#include "cost/pipeline.h"
#include "measure/measurement.h"

namespace pipesim::measure {

/// `given`: the costs that the run was given; those of emulated parts are exact and stay. Real
/// parts get the measured costs: the means of `measurement.demands`, without contention and
/// waiting, with the variation of the batches in `trace`. Parts that were not measured stay free.
cost::Pipeline Fit(const trace::RunTrace& trace, const Measurement& measurement,
                   const spec::Experiment& experiment, const cost::Pipeline& given);

/// Share of the samples that storage is read for; a cache serves the others. 1 where nothing was measured.
double MissFraction(const Demands& demands);

/// What a step on a GPU takes beyond computing and beyond its launches (cost::Step::gap). Known
/// only where the device hardly starves and reads no results, since a step that it waited for also
/// waits for its first launch; 0 elsewhere.
base::Duration LaunchGap(const Measurement& measurement, const spec::Experiment& experiment);

}  // namespace pipesim::measure
