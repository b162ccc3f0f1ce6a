// Where workers find what to make next: the Dealer's decisions under one lock, and an honest answer
// to "why is this worker waiting?". Knows nothing of how batches are made or travel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/dealer.h"
#include "engine/state_history.h"
#include "engine/threaded/thread_timer.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// One batch to make.
struct Task {
  std::int64_t number = 0;  ///< running number over the run
  std::int64_t epoch = 0;
  Deal deal;
};

/// Thread-safe.
class WorkBoard {
 public:
  explicit WorkBoard(const spec::Loader& loader);

  // The consumer's side.
  /// Deals the first window of `epoch`, whose batches are numbered from `first_number` on.
  void BeginEpoch(std::int64_t epoch, std::int64_t batches, std::int64_t first_number);
  /// The batch has come out of the queue, whether it is its turn or not.
  void Arrived(const Deal& deal);
  /// The batch was taken: its index is free to be sent again.
  void Taken(const Deal& deal);
  void ConsumerWaits(base::Instant since);
  void ConsumerGoesOn(base::Instant now);

  // A worker's side.
  enum class Call {
    kWork,      ///< make `task`
    kNewEpoch,  ///< `epoch` has begun
    kOver,      ///< the run is
  };
  /// Waits for what worker `worker` is to do next. `epoch` is the one it knows. While it waits the
  /// timer is in kIdle when this epoch has nothing more for it; else in kBlockedOnOrder for the
  /// time in which the consumer, too, was waiting (the window is full because an earlier batch is
  /// unfinished), and in kBlockedOnConsumer for the rest.
  Call Next(int worker, std::int64_t& epoch, Task& task, ThreadTimer& timer);
  /// Waits until the run is over, in the timer's present state.
  void AwaitClose();

  // Anybody's.
  void Close();
  struct Missing {
    std::int64_t epoch = 0, index = 0;
    int worker = kAnyWorker;  ///< kAnyWorker: no worker has begun it
  };
  /// The oldest batch that was dealt and has not arrived.
  std::optional<Missing> OldestMissing() const;

 private:
  /// Round-robin: one for each worker. Shared: one for all.
  struct Lane {
    std::deque<Task> tasks;
    std::condition_variable changed;
  };
  Lane& LaneOf(int worker) {
    return lanes_[lanes_.size() == 1 ? 0 : static_cast<std::size_t>(worker)];
  }
  void DealLocked();
  void WaitLocked(std::unique_lock<std::mutex>& lock, int worker, ThreadTimer& timer);
  void SettleLocked(int worker, ThreadTimer& timer);

  mutable std::mutex mutex_;
  Dealer dealer_;
  std::deque<Lane> lanes_;  // a Lane cannot move
  std::condition_variable over_;
  std::int64_t epoch_ = -1, first_number_ = 0;
  bool closed_ = false;
  std::map<std::int64_t, int> missing_;  ///< index -> worker, of the present epoch
  StateHistory consumer_waits_;
  std::optional<base::Instant> consumer_waits_since_;
  std::vector<std::optional<base::Instant>> blocked_since_;  ///< per worker
};

}  // namespace pipesim::engine
