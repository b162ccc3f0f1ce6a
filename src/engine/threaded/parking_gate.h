// Stops loading between two chunks of samples and lets it go on where it stopped, so that batches
// in stock and in work stay as they are.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "engine/threaded/thread_timer.h"

namespace pipesim::engine::threaded {

/// Thread-safe. Open at first.
class ParkingGate {
 public:
  void Close() { closed_.store(true); }
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      closed_.store(false);
    }
    opened_.notify_all();
  }
  /// Waits while the gate is closed; the timer then is in kIdle.
  void Pass(ThreadTimer& timer) {
    if (!closed_.load(std::memory_order_relaxed)) [[likely]]
      return;
    timer.Enter(trace::State::kIdle);
    timer.WaitedForOther();
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return !closed_.load(); });
  }

 private:
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable opened_;
};

}  // namespace pipesim::engine::threaded
