#include "engine/threaded/locked_dispatcher.h"

#include <optional>

namespace pipesim::engine::threaded {

using base::Instant;

LockedDispatcher::LockedDispatcher(const spec::Loader& loader)
    : dispatcher_(loader), woken_(static_cast<std::size_t>(loader.workers)) {}

void LockedDispatcher::BeginEpoch(std::int64_t epoch, std::int64_t batches) {
  const std::lock_guard lock(mutex_);
  dispatcher_.BeginEpoch(epoch, batches, Notify());
}

void LockedDispatcher::Launched(std::int64_t epoch, int worker) {
  const std::lock_guard lock(mutex_);
  dispatcher_.Launched(epoch, worker, Notify());
}

void LockedDispatcher::Arrived(int worker) {
  const std::lock_guard lock(mutex_);
  dispatcher_.Arrived(worker);
}

void LockedDispatcher::Taken(const Deal& deal) {
  const std::lock_guard lock(mutex_);
  dispatcher_.Taken(deal, Notify());
}

void LockedDispatcher::Use(int workers, int prefetch_factor) {
  const std::lock_guard lock(mutex_);
  while (woken_.size() < static_cast<std::size_t>(workers)) woken_.emplace_back();
  dispatcher_.Use(workers, prefetch_factor, Notify());
}

void LockedDispatcher::ConsumerWaits(Instant since) {
  const std::lock_guard lock(mutex_);
  dispatcher_.ConsumerWaits(since);
}

void LockedDispatcher::ConsumerGoesOn(Instant now) {
  const std::lock_guard lock(mutex_);
  dispatcher_.ConsumerGoesOn(now);
}

LockedDispatcher::Call LockedDispatcher::Next(int worker, std::int64_t& epoch, Task& task,
                                              ThreadTimer& timer) {
  std::unique_lock lock(mutex_);
  std::optional<Deal> deal;
  while (!closed_ && dispatcher_.EpochOf(worker) == epoch && !(deal = dispatcher_.Take(worker))) {
    WaitLocked(lock, worker, timer);
  }
  dispatcher_.Settle(worker, timer, timer.Now());
  if (deal) {
    task = {dispatcher_.NumberOf(*deal), epoch, *deal};
    return Call::kWork;
  }
  if (closed_) return Call::kOver;
  epoch = dispatcher_.EpochOf(worker);
  return Call::kNewEpoch;
}

void LockedDispatcher::WaitLocked(std::unique_lock<std::mutex>& lock, int worker,
                                  ThreadTimer& timer) {
  dispatcher_.Await(worker, timer, timer.Now());
  timer.SetBatch(-1, 0);
  timer.WaitedForOther();
  woken_[static_cast<std::size_t>(worker)].wait(
      lock, [&] { return closed_ || !dispatcher_.waits(worker); });
}

void LockedDispatcher::AwaitClose() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [&] { return closed_; });
}

void LockedDispatcher::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  over_.notify_all();
  for (std::condition_variable& woken : woken_) woken.notify_all();
}

std::string LockedDispatcher::Missing() const {
  const std::lock_guard lock(mutex_);
  return dispatcher_.Missing();
}

}  // namespace pipesim::engine::threaded
