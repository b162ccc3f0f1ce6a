// The pipeline in virtual time: the same experiment in, the same trace out as from real threads, by
// a discrete-event simulation that never sleeps and starts no thread.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/executor.h"

namespace pipesim::engine {

/// Predicts experiments, each Run independently of the others; byte-identical for a seed. Any
/// thread may call Run, several at once. Costs come from the pipeline; settings, order and length
/// of the run from the experiment. The trace is that of the first accelerator, with the progress of
/// the others.
///
/// Differs from Executor's contract: `enough` is asked about every 100 ms of virtual time, in long
/// runs every 1/128 of the time so far; on_progress is never called.
class VirtualExecutor : public Executor {
 public:
  /// That its runs simulated, unfinished ones as of the last time that `enough` was asked: their effort.
  /// Periods that were skipped count once.
  virtual std::int64_t Events() const = 0;
  /// Another one with a count of its own, whose runs draw together with this one's.
  virtual std::unique_ptr<VirtualExecutor> Sharing() const = 0;
};

std::unique_ptr<VirtualExecutor> MakeVirtualExecutor();

}  // namespace pipesim::engine
