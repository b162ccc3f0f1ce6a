// What a run had recorded when it had finished so many steps, from its trace.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/run_trace.h"

namespace pipesim::trace {

/// The first `steps` steps, as far as a rate is found from them: progress and the time in each state.
/// nullopt where the trace has fewer, or does not show them closely enough: not every checkpoint that
/// a run of so many steps keeps, or too few buckets.
std::optional<RunTrace> FirstSteps(const RunTrace& trace, std::int64_t steps);

}  // namespace pipesim::trace
