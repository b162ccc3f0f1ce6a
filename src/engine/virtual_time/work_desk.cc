#include "engine/virtual_time/work_desk.h"

#include <algorithm>

#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

using base::Instant;
using trace::State;

WorkDesk::WorkDesk(VirtualRun& run, const Rank& rank, const spec::Loader& loader)
    : run_(run),
      rank_(rank),
      dealer_(loader),
      lanes_(loader.dispatch == spec::Dispatch::kShared
                 ? 1
                 : static_cast<std::size_t>(std::max(loader.workers, 1))),
      seats_(static_cast<std::size_t>(loader.workers)) {}

void WorkDesk::BeginEpoch(std::int64_t epoch, std::int64_t batches) {
  epoch_ = epoch;
  first_number_ = epoch * batches;
  dealer_.BeginEpoch(batches);
  while (const std::optional<Deal> deal = dealer_.Next()) LaneOf(deal->worker).push_back(*deal);
  WakeAll();
}

void WorkDesk::Taken(const Deal& taken) {
  dealer_.Taken(taken);
  bool dealt = false;
  while (const std::optional<Deal> deal = dealer_.Next()) {
    LaneOf(deal->worker).push_back(*deal);
    dealt = true;
    if (deal->worker != kAnyWorker) {
      if (seats_[static_cast<std::size_t>(deal->worker)].waits) Wake(deal->worker);
    } else if (!line_.empty()) {
      const int worker = line_.front();
      line_.pop_front();
      Wake(worker);
    }
  }
  // Those who wait on are idle from now on.
  if (dealt && dealer_.DealtOut()) WakeAll();
}

void WorkDesk::Wake(int worker) {
  seats_[static_cast<std::size_t>(worker)].waits = false;
  run_.Wake(*run_.actors[static_cast<std::size_t>(rank_.first_actor + 1 + worker)]);
}

void WorkDesk::WakeAll() {
  line_ = {};
  for (std::size_t worker = 0; worker < seats_.size(); ++worker) {
    if (seats_[worker].waits) Wake(static_cast<int>(worker));
  }
}

void WorkDesk::ConsumerWaits() { consumer_waits_since_ = run_.now; }

void WorkDesk::ConsumerGoesOn() {
  if (!consumer_waits_since_) return;
  consumer_waits_.Add(State::kBlockedOnOrder, *consumer_waits_since_, run_.now);
  consumer_waits_since_.reset();
  ForgetOldWaits();
}

// Looks for what is still needed only when the history has doubled: constant time a wait.
void WorkDesk::ForgetOldWaits() {
  if (consumer_waits_.size() < 2 * waits_kept_ + seats_.size()) return;
  Instant asked_from = run_.now;
  for (const Seat& seat : seats_) {
    if (seat.blocked_since) asked_from = std::min(asked_from, *seat.blocked_since);
  }
  consumer_waits_.ForgetBefore(asked_from);
  waits_kept_ = consumer_waits_.size();
}

std::optional<Deal> WorkDesk::Take(int worker) {
  Ring<Deal>& lane = LaneOf(worker);
  if (lane.empty()) return std::nullopt;
  const Deal deal = lane.front();
  lane.pop_front();
  return deal;
}

void WorkDesk::Await(int worker, Account& account) {
  Seat& seat = seats_[static_cast<std::size_t>(worker)];
  if (dealer_.NoMoreFor(worker)) {
    Settle(worker, account);
    if (account.state() != State::kIdle) account.Enter(State::kIdle, run_.now);
  } else if (!seat.blocked_since) {
    account.Enter(State::kBlockedOnConsumer, run_.now);
    seat.blocked_since = run_.now;
  }
  account.SetBatch(-1, 0);
  seat.waits = true;
  if (lanes_.size() == 1) line_.push_back(worker);
}

void WorkDesk::Settle(int worker, Account& account) {
  Seat& seat = seats_[static_cast<std::size_t>(worker)];
  if (!seat.blocked_since) return;
  const Instant begin = *seat.blocked_since, now = run_.now;
  seat.blocked_since.reset();
  const auto enter = [&](State state, Instant when, Instant) {
    if (state != account.state()) account.Enter(state, when);
  };
  // Until now every wait of the consumer counts, the present one too.
  const Instant known =
      consumer_waits_since_ ? std::clamp(*consumer_waits_since_, begin, now) : now;
  consumer_waits_.Over(begin, known, State::kBlockedOnConsumer, enter);
  if (known < now) enter(State::kBlockedOnOrder, known, now);
}

std::optional<std::int64_t> WorkDesk::OldestUnbegun() const {
  std::optional<std::int64_t> oldest;
  for (const Ring<Deal>& lane : lanes_) {
    if (!lane.empty()) oldest = std::min(oldest.value_or(lane.front().index), lane.front().index);
  }
  return oldest;
}

}  // namespace pipesim::engine::virtual_time
