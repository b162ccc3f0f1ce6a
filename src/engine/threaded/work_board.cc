#include "engine/threaded/work_board.h"

#include <algorithm>

namespace pipesim::engine {

using base::Instant;
using trace::State;

WorkBoard::WorkBoard(const spec::Loader& loader)
    : dealer_(loader),
      lanes_(loader.dispatch == spec::Dispatch::kShared
                 ? 1
                 : static_cast<std::size_t>(std::max(loader.workers, 1))),
      blocked_since_(static_cast<std::size_t>(loader.workers)) {}

void WorkBoard::BeginEpoch(std::int64_t epoch, std::int64_t batches, std::int64_t first_number) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
  first_number_ = first_number;
  dealer_.BeginEpoch(batches);
  DealLocked();
  for (Lane& lane : lanes_) lane.changed.notify_all();
}

void WorkBoard::Arrived(const Deal& deal) {
  const std::lock_guard lock(mutex_);
  missing_.erase(deal.index);
}

void WorkBoard::Taken(const Deal& deal) {
  const std::lock_guard lock(mutex_);
  dealer_.Taken(deal);
  DealLocked();
}

void WorkBoard::DealLocked() {
  bool dealt = false;
  while (const std::optional<Deal> deal = dealer_.Next()) {
    missing_.emplace(deal->index, deal->worker);
    Lane& lane = LaneOf(deal->worker);
    lane.tasks.push_back({first_number_ + deal->index, epoch_, *deal});
    lane.changed.notify_one();
    dealt = true;
  }
  // Those who wait on are idle from now on.
  if (dealt && dealer_.DealtOut()) {
    for (Lane& lane : lanes_) lane.changed.notify_all();
  }
}

void WorkBoard::ConsumerWaits(Instant since) {
  const std::lock_guard lock(mutex_);
  consumer_waits_since_ = since;
}

void WorkBoard::ConsumerGoesOn(Instant now) {
  const std::lock_guard lock(mutex_);
  if (consumer_waits_since_)
    consumer_waits_.Add(State::kBlockedOnOrder, *consumer_waits_since_, now);
  consumer_waits_since_.reset();
  Instant asked_from = now;
  for (const std::optional<Instant>& since : blocked_since_) {
    if (since) asked_from = std::min(asked_from, *since);
  }
  consumer_waits_.ForgetBefore(asked_from);
}

WorkBoard::Call WorkBoard::Next(int worker, std::int64_t& epoch, Task& task, ThreadTimer& timer) {
  std::unique_lock lock(mutex_);
  Lane& lane = LaneOf(worker);
  for (;;) {
    if (closed_) {
      SettleLocked(worker, timer);
      return Call::kOver;
    }
    if (epoch_ != epoch) {
      SettleLocked(worker, timer);
      epoch = epoch_;
      return Call::kNewEpoch;
    }
    if (!lane.tasks.empty()) {
      SettleLocked(worker, timer);
      task = lane.tasks.front();
      lane.tasks.pop_front();
      missing_[task.deal.index] = worker;
      return Call::kWork;
    }
    WaitLocked(lock, worker, timer);
  }
}

void WorkBoard::WaitLocked(std::unique_lock<std::mutex>& lock, int worker, ThreadTimer& timer) {
  std::optional<Instant>& blocked = blocked_since_[static_cast<std::size_t>(worker)];
  if (dealer_.NoMoreFor(worker)) {
    SettleLocked(worker, timer);
    if (timer.state() != State::kIdle) timer.Enter(State::kIdle);
  } else if (!blocked) {
    timer.Enter(State::kBlockedOnConsumer);
    blocked = timer.begun();
  }
  timer.SetBatch(-1, 0);
  timer.WaitedForOther();
  LaneOf(worker).changed.wait(lock);
}

void WorkBoard::SettleLocked(int worker, ThreadTimer& timer) {
  std::optional<Instant>& blocked = blocked_since_[static_cast<std::size_t>(worker)];
  if (!blocked) return;
  const Instant begin = *blocked;
  blocked.reset();
  timer.EnterAt(State::kBlockedOnConsumer, timer.begun());
  const auto enter = [&](State state, Instant when, Instant) {
    if (state != timer.state()) timer.EnterAt(state, when);
  };
  // The worker's wait ends when it looks; until then every wait of the consumer counts.
  const Instant now = timer.Now();
  const Instant known =
      consumer_waits_since_ ? std::clamp(*consumer_waits_since_, begin, now) : now;
  consumer_waits_.Over(begin, known, State::kBlockedOnConsumer, enter);
  if (known < now) enter(State::kBlockedOnOrder, known, now);
}

void WorkBoard::AwaitClose() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [&] { return closed_; });
}

void WorkBoard::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  over_.notify_all();
  for (Lane& lane : lanes_) lane.changed.notify_all();
}

std::optional<WorkBoard::Missing> WorkBoard::OldestMissing() const {
  const std::lock_guard lock(mutex_);
  if (missing_.empty()) return std::nullopt;
  const auto& [index, worker] = *missing_.begin();
  return Missing{epoch_, index, worker};
}

}  // namespace pipesim::engine
