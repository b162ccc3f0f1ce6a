// One loader worker: index -> batch -> queue, until the run is over.
#pragma once

#include "engine/threaded/batch_maker.h"
#include "engine/threaded/call_guard.h"
#include "engine/threaded/run_state.h"

namespace pipesim::engine::threaded {

/// Runs in its own thread; returns when the run is over, or when it has failed itself. Throws
/// LeftBehind.
void RunWorker(RunState& run, int worker, CallGuard& guard);

}  // namespace pipesim::engine::threaded
