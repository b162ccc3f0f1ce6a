// The total rate of several accelerators: the trace is that of the first, with only the progress of
// the others.
#pragma once

#include "measure/measurement.h"

namespace pipesim::measure {

/// The total rate of all accelerators in the window over the first one's. Each rate is counted over
/// whole periods of the accelerator's own steps (PeriodSteps), so it does not depend on where the
/// window cuts them. An accelerator without a whole step in the window counts like the first. 1
/// with one accelerator.
double AllOverFirst(const trace::RunTrace& trace, const Window& window,
                    const spec::Experiment& experiment);

}  // namespace pipesim::measure
