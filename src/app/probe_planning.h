// What a run tries once its measured part is over: free data, free compute, and the setting that its
// report is about to recommend, where that can be changed live.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"
#include "engine/probe_plan.h"
#include "measure/measurement.h"
#include "spec/experiment.h"

namespace pipesim::app {

/// `diagnosis`: of the measured part alone. nullopt when the run shows no rate to compare with.
std::optional<engine::ProbePlan> PlanProbes(const spec::Experiment& experiment,
                                            const measure::Measurement& measurement,
                                            const diagnose::Diagnosis& diagnosis);

}  // namespace pipesim::app
