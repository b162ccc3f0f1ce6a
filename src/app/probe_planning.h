// Decides what a run shall try after its measured part.
#pragma once

#include <optional>

#include "cost/pipeline.h"
#include "engine/probe_plan.h"
#include "spec/experiment.h"
#include "trace/run_trace.h"

namespace pipesim::app {

/// Free data and free compute, and the setting that the diagnosis of `trace` would recommend where
/// it can be changed live. nullopt: nothing was measured.
std::optional<engine::ProbePlan> PlanProbes(const trace::RunTrace& trace,
                                            const spec::Experiment& experiment,
                                            const cost::Pipeline& pipeline);

}  // namespace pipesim::app
