// How much all cores together copy: threads that fill large batches share the machine's memory.
#pragma once

#include <optional>

#include "engine/threaded/run_state.h"

namespace pipesim::engine::threaded {

/// How many times as much as one of them `threads` threads copy that each fill memory of their own
/// with samples, in isolation. Takes about 0.1 s. nullopt for one thread, for batches that may stay
/// in a core's cache, and where memory or threads are short.
std::optional<double> CopyingSpeedup(const RunState& run, int threads);

}  // namespace pipesim::engine::threaded
