// The pipeline in virtual time: the same experiment in, the same trace out as from real threads, by
// a discrete-event simulation that never sleeps and starts no thread.
#pragma once

#include <memory>

#include "engine/executor.h"

namespace pipesim::engine {

/// Predicts experiments, each Run independently of the others; byte-identical for a seed. Any
/// thread may call Run, several at once. All costs are the pipeline's; the experiment says what is
/// loaded, by how many, in which order and for how long. Of run.accelerators the trace is the first
/// one's, with the progress of the others.
///
/// Beside Executor: `enough` is asked about every 100 ms of virtual time, in long runs every 128th
/// of the time so far; on_progress is never called, as there is nothing to wait for.
std::unique_ptr<Executor> MakeVirtualExecutor();

}  // namespace pipesim::engine
