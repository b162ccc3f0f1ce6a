// The bounded queue between workers and consumer. Batches travel as the number of their slot.
#pragma once

#include <cstdint>
#include <memory>

#include "spec/experiment.h"

namespace pipesim::engine::threaded {

/// Any number of pushing threads, one that pops. First in, first out.
class BatchQueue {
 public:
  virtual ~BatchQueue() = default;
  /// False when full.
  virtual bool TryPush(int slot) = 0;
  /// Waits for room. False when the queue was aborted.
  virtual bool Push(int slot) = 0;
  /// False when empty.
  virtual bool TryPop(int& slot) = 0;
  /// Waits for a batch. False when the queue was aborted.
  virtual bool Pop(int& slot) = 0;
  /// Releases all present and future waits. A thread that is about to wait can miss one call, so
  /// repeat it until all threads have left.
  virtual void Abort() = 0;
  /// Between 0 and the capacity; may be out of date.
  virtual std::int64_t size() const = 0;
};

/// `capacity` >= 1. tbb: oneTBB concurrent_bounded_queue; lockfree: Boost.Lockfree with POSIX
/// semaphores; mutex: one mutex, two condition variables.
std::unique_ptr<BatchQueue> MakeBatchQueue(spec::QueueKind kind, std::int64_t capacity);

}  // namespace pipesim::engine::threaded
