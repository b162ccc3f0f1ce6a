// The pin stage: a thread between the workers' queue and the consumer copies each batch into
// page-locked memory, in the order in which batches were made, and passes it on through a second
// queue of the same capacity. At 0 workers the consumer pins its own batches.
#pragma once

#include <atomic>
#include <memory>

#include "engine/threaded/batch_pool.h"
#include "engine/threaded/batch_queue.h"
#include "engine/threaded/thread_timer.h"

namespace pipesim::engine::threaded {

struct RunState;

struct PinStage {
  /// Slots for the window, the trainer's batches and the batch being taken. Always recycled, like
  /// the memory of PyTorch's pin thread, which comes from LibTorch's caching host allocator.
  PinStage(const spec::Experiment& experiment, BatchMemory& pinned, std::int64_t queue_capacity);

  BatchPool pool;
  std::unique_ptr<BatchQueue> queue;  ///< nullptr at 0 workers
  std::atomic<int> in_hand{0};        ///< taken from the workers' queue and not yet passed on
};

/// Copies the batch in `slot` of the workers' pool, releases that slot and returns the new one in
/// the stage's pool. The calling thread's timer is left in kPin. Throws std::bad_alloc.
int PinBatch(RunState& run, int slot, ThreadTimer& timer);

/// The pin thread: returns when the run is over, or when it has failed itself.
void RunPinThread(RunState& run);

}  // namespace pipesim::engine::threaded
