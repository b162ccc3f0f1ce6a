// The begin and the end of the measured part of a run, and the steps inside it. Does not measure.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/measurement.h"

namespace pipesim::measure {

/// The progress of a run as it was kept, led by its begin (0 steps): each pair of neighbours is an
/// interval of whole steps, and the first interval starts at the run's begin.
std::vector<trace::Checkpoint> Marks(const trace::RunTrace& trace);

/// The first of `marks` with `steps` steps or more; marks.end() if none has.
std::vector<trace::Checkpoint>::const_iterator FirstMarkFrom(
    const std::vector<trace::Checkpoint>& marks, std::int64_t steps);

/// So many epochs make an epoch the period: cutting off part of one costs at most a fifth of the run, and with fewer a
/// border more or less changes the rate by up to a fourth of what a border costs.
inline constexpr std::int64_t kEpochsForPeriod = 4;

/// The steps after which the pipeline repeats itself: an epoch where kEpochsForPeriod are among `steps`
/// (the loader restarts at each border), else one batch of every worker.
std::int64_t PeriodSteps(const spec::Experiment& experiment, std::int64_t steps);

/// Borders inside the window that split it into at most `max_groups` (>= 1) consecutive groups of
/// equal steps, each a multiple of `period` (>= 1; a border between kept steps moves to the next
/// one). The first is the window's begin; a remainder at the end is left out. Fewer than two
/// borders when not one group fits.
std::vector<trace::Checkpoint> GroupBorders(const trace::RunTrace& trace, const Window& window,
                                            std::int64_t period, std::int64_t max_groups);

}  // namespace pipesim::measure
