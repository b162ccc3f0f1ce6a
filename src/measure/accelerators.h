// Runs of several accelerators: what all of them do together, where the trace is of the first one
// alone and holds no more than the progress of the others.
#pragma once

#include "measure/measurement.h"

namespace pipesim::measure {

/// How many times the first accelerator's rate all of them together have in the window: each one's
/// own rate counted over whole periods of its own steps (PeriodSteps), so that where the window
/// cuts their steps does not show. One that has no whole step in the window counts as the first. 1
/// in a run of one.
double AllOverFirst(const trace::RunTrace& trace, const Window& window,
                    const spec::Experiment& experiment);

}  // namespace pipesim::measure
