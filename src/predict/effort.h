// How long the virtual engine itself takes, so that predictions answer in time.
#pragma once

#include "cost/pipeline.h"
#include "spec/experiment.h"

namespace pipesim::predict {

/// Seconds of one core for a step and its batch on every accelerator, by order of magnitude.
double SecondsOfStep(const spec::Experiment& experiment, const cost::Pipeline& pipeline);

}  // namespace pipesim::predict
