// What-if in virtual time: a changed pipeline is run as the original was, with its parts' costs
// scaled as the scenario says. Exact where bounds on means are not: variation, order, prefetch.
#pragma once

#include "app/prediction_costs.h"
#include "diagnose/diagnosis.h"

namespace pipesim::app {

/// Whether a diagnosis may ask PredictInVirtualTime as often as it does: within about a second, by an
/// estimate from the experiment alone, so that the answer is the same everywhere.
bool VirtualTimeIsQuick(const PredictionCosts& costs, const measure::Measurement& measurement);

/// Predictor for the diagnosis of a predicted run: of its costs, what was measured of it, and what
/// stops it. Each scenario is run once, over as many steps as a gain needs that is not noise, never
/// more than the run itself had. Where bounds know no limit there is none. Not thread-safe; several
/// may be used side by side.
diagnose::Predictor PredictInVirtualTime(const PredictionCosts& costs,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop);

}  // namespace pipesim::app
