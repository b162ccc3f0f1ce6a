// The Dispatcher for real threads: a lock around it, and a condition variable for each worker that
// waits. Knows nothing of how batches are made or travel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "engine/dispatcher.h"
#include "engine/threaded/thread_timer.h"
#include "spec/experiment.h"

namespace pipesim::engine::threaded {

/// One batch to make.
struct Task {
  std::int64_t number = 0;  ///< running number over the run
  std::int64_t epoch = 0;
  Deal deal;
};

/// Thread-safe.
class LockedDispatcher {
 public:
  explicit LockedDispatcher(const spec::Loader& loader);

  // The consumer's side: see Dispatcher.
  void Launched(std::int64_t epoch, int worker);
  void BeginEpoch(std::int64_t epoch, std::int64_t batches);
  void Arrived(int worker);
  void Taken(const Deal& deal);
  void Use(int workers, int prefetch_factor);
  void ConsumerWaits(base::Instant since);
  void ConsumerGoesOn(base::Instant now);

  // A worker's side.
  enum class Call {
    kWork,      ///< make `task`
    kNewEpoch,  ///< `epoch` has begun
    kOver,      ///< the run is
  };
  /// Waits for the next task of worker `worker`, with the timer in the states that Dispatcher
  /// names. `epoch` is the worker's present one.
  Call Next(int worker, std::int64_t& epoch, Task& task, ThreadTimer& timer);
  /// Waits until the run is over, in the timer's present state.
  void AwaitClose();

  // Any thread.
  void Close();
  std::string Missing() const;

 private:
  auto Notify() {
    return [this](int worker) { woken_[static_cast<std::size_t>(worker)].notify_one(); };
  }
  void WaitLocked(std::unique_lock<std::mutex>& lock, int worker, ThreadTimer& timer);

  mutable std::mutex mutex_;
  Dispatcher dispatcher_;
  std::deque<std::condition_variable> woken_;  ///< by worker
  std::condition_variable over_;
  bool closed_ = false;
};

}  // namespace pipesim::engine::threaded
