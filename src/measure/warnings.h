// Finds what makes a run doubtful, as warning.h describes it.
#pragma once

#include <vector>

#include "measure/measurement.h"
#include "measure/resources.h"

namespace pipesim::measure {

/// `measurement` holds everything but its warnings; without `window` nothing was measured.
std::vector<Warning> WarningsOf(const trace::RunTrace& trace, const spec::Experiment& experiment,
                                const std::optional<Window>& window,
                                const std::optional<CounterMoves>& moves,
                                const Measurement& measurement);

/// The steps come in bursts: one in `period` is slow (at least three times the others), the next
/// slow one comes `period` later, and the wait for a batch explains it.
bool ComesInBursts(const trace::RunTrace& trace, const Window& window, int period,
                   double starved_fraction);

}  // namespace pipesim::measure
