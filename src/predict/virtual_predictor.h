// What-ifs in virtual time: a changed pipeline is run as the original was. Exact where bounds on
// means are not: variation, order, prefetch, contention.
#pragma once

#include "base/clock.h"
#include "cost/pipeline.h"
#include "diagnose/diagnosis.h"

namespace pipesim::predict {

/// Predictor for the diagnosis of a run, real or predicted, that took `pipeline`'s costs and was
/// measured as `measurement` says. Each variant is run once, over as many steps as a gain beyond
/// noise needs and about a second for all of a diagnosis allows. Where bounds know no limit there is
/// none. `stop`: no more engine runs, bounds answer. Not
/// thread-safe; several may be used side by side.
diagnose::Predictor PredictInVirtualTime(const spec::Experiment& experiment,
                                         const cost::Pipeline& pipeline,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop);

}  // namespace pipesim::predict
