// How long the virtual engine itself takes, so that predictions answer in time.
#pragma once

#include <cstdint>

#include "cost/pipeline.h"
#include "spec/experiment.h"

namespace pipesim::predict {

/// Seconds of one core for a step and its batch on every accelerator, by order of magnitude and
/// before it ran: what repeats itself is skipped and takes far less.
double SecondsOfStep(const spec::Experiment& experiment, const cost::Pipeline& pipeline);

/// Of a run of so many steps that simulated so many events.
double SecondsOfRun(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                    std::int64_t steps, std::int64_t events);

/// Of a prediction of automatic length: its start's stock and two cycles of all workers.
std::int64_t FewestSteps(const spec::Loader& loader);

/// An epoch of so many batches loses less than half a per cent by its start.
std::int64_t FewestOfLongEpoch(const spec::Loader& loader);

/// About how long the steps that are asked for take at least, at a rate below `most_per_s` samples/s.
base::Duration LeastDuration(const spec::Experiment& experiment, double most_per_s);

}  // namespace pipesim::predict
