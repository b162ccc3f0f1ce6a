// Hands out batches to workers and records why a worker waits: the Dealer's decisions, the index
// queues, waiting workers and missing batches. Knows no threads and no clock: the virtual engine
// uses it directly, the threaded engine under a lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/dealer.h"
#include "engine/ring.h"
#include "engine/state_history.h"
#include "engine/state_visitor.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// Serves one consumer and its workers. A call with a `wake` argument calls wake(worker) for each
/// worker that must look again, in order; that worker may call back at once. With `dispatch:
/// shared` waiting workers are served first in, first out. Not thread-safe.
class Dispatcher {
 public:
  explicit Dispatcher(const spec::Loader& loader);

  // The consumer's side.
  /// The process of `worker` has been launched for `epoch`. It makes itself ready; BeginEpoch begins
  /// the epoch when all have been launched.
  template <class Wake>
  void Launched(std::int64_t epoch, int worker, Wake&& wake);
  /// Deals the first window of `epoch`, which has `batches` batches like every other.
  template <class Wake>
  void BeginEpoch(std::int64_t epoch, std::int64_t batches, Wake&& wake);
  /// A batch made by `worker` has reached the consumer, in order or not. A worker's batches arrive
  /// in the order in which it took them.
  void Arrived(int worker) { SeatOf(worker).unfinished.pop_front(); }
  /// The consumer has taken the batch, which makes room in the window.
  template <class Wake>
  void Taken(const Deal& taken, Wake&& wake);
  /// See Dealer::Use; deals at once what the new window has room for. Other numbers of workers only
  /// with `dispatch: round_robin`: a shared index queue serves whoever asks.
  template <class Wake>
  void Use(int workers, int prefetch_factor, Wake&& wake);
  void ConsumerWaits(base::Instant since) { consumer_waits_since_ = since; }
  void ConsumerGoesOn(base::Instant now);

  std::int64_t epoch() const { return epoch_; }  ///< -1 before the first
  /// Batches of the current epoch that are dealt.
  std::int64_t dealt() const { return dealer_.dealt(); }
  /// The running number of a batch of the current epoch.
  std::int64_t NumberOf(const Deal& deal) const { return first_number_ + deal.index; }

  // A worker's side.
  /// The epoch for which the worker is, or makes itself, ready.
  std::int64_t EpochOf(int worker) const {
    return std::max(epoch_, seats_[static_cast<std::size_t>(worker)].launched_for);
  }
  // `account` is its own: it has state() and Enter(state, instant).
  /// The next batch to make; nullopt if there is none now.
  std::optional<Deal> Take(int worker);
  /// Whether Take would return a batch.
  bool HasDealt(int worker) const {
    return !queues_[queues_.size() == 1 ? 0 : static_cast<std::size_t>(worker)].empty();
  }
  /// Call after Take returned nullopt. The account enters kIdle if this epoch has nothing more for
  /// the worker, else a blocked state, which Settle resolves. The worker waits until it is woken.
  template <class Account>
  void Await(int worker, Account& account, base::Instant now);
  /// Whether the worker has not been woken since it began to wait.
  bool waits(int worker) const { return seats_[static_cast<std::size_t>(worker)].waits; }
  /// Ends a wait. The part of a blocked wait during which the consumer also waited becomes
  /// kBlockedOnOrder (the window is full because an earlier batch of another worker is unfinished),
  /// the rest kBlockedOnConsumer.
  template <class Account>
  void Settle(int worker, Account& account, base::Instant now);

  /// Names the oldest batch that was dealt and has not arrived, and its worker.
  std::string Missing() const;

  void Visit(StateVisitor& visitor);

 private:
  struct Seat {
    bool waits = false;
    std::int64_t launched_for = -1;              ///< an epoch that has not begun; -1: none
    std::optional<base::Instant> blocked_since;  ///< not yet settled
    Ring<std::int64_t> unfinished;               ///< indices taken and not arrived
  };
  Seat& SeatOf(int worker) { return seats_[static_cast<std::size_t>(worker)]; }
  Ring<Deal>& QueueOf(int worker) {
    return queues_[queues_.size() == 1 ? 0 : static_cast<std::size_t>(worker)];
  }
  template <class Wake>
  void DealAll(Wake&& wake);
  template <class Wake>
  void WakeOne(int worker, Wake&& wake);
  template <class Wake>
  void WakeAll(Wake&& wake);
  void ForgetOldWaits(base::Instant now);
  void ForgetWaitsOfNobody(base::Instant now);

  Dealer dealer_;
  std::vector<Ring<Deal>> queues_;  ///< round_robin: one per worker; shared: one
  std::vector<Seat> seats_;         ///< by worker
  Ring<int> line_;                  ///< shared: waiting workers, oldest first
  std::int64_t epoch_ = -1, first_number_ = 0;
  StateHistory consumer_waits_;
  std::size_t waits_kept_ = 0;  ///< after the last clearing
  std::optional<base::Instant> consumer_waits_since_;
};

/// The failure of a run whose consumer waited longer than `timeout`.
std::string NoBatchWithin(base::Duration timeout, const std::string& missing);

template <class Wake>
void Dispatcher::BeginEpoch(std::int64_t epoch, std::int64_t batches, Wake&& wake) {
  epoch_ = epoch;
  for (Seat& seat : seats_) seat.launched_for = -1;
  first_number_ = epoch * batches;
  dealer_.BeginEpoch(batches);
  while (const std::optional<Deal> deal = dealer_.Next()) QueueOf(deal->worker).push_back(*deal);
  WakeAll(wake);
}

template <class Wake>
void Dispatcher::Launched(std::int64_t epoch, int worker, Wake&& wake) {
  SeatOf(worker).launched_for = epoch;
  if (waits(worker)) WakeOne(worker, wake);
}

template <class Wake>
void Dispatcher::Taken(const Deal& taken, Wake&& wake) {
  dealer_.Taken(taken);
  DealAll(wake);
}

template <class Wake>
void Dispatcher::Use(int workers, int prefetch_factor, Wake&& wake) {
  const auto most = static_cast<std::size_t>(workers);
  if (seats_.size() < most) seats_.resize(most);
  if (!dealer_.shared() && queues_.size() < most) queues_.resize(most);
  dealer_.Use(workers, prefetch_factor);
  DealAll(wake);
}

template <class Wake>
void Dispatcher::DealAll(Wake&& wake) {
  bool dealt = false;
  while (const std::optional<Deal> deal = dealer_.Next()) {
    QueueOf(deal->worker).push_back(*deal);
    dealt = true;
    if (deal->worker != kAnyWorker) {
      if (waits(deal->worker)) WakeOne(deal->worker, wake);
    } else if (!line_.empty()) {
      const int worker = line_.front();
      line_.pop_front();
      WakeOne(worker, wake);
    }
  }
  // The workers that still wait become idle.
  if (dealt && dealer_.DealtOut()) WakeAll(wake);
}

template <class Wake>
void Dispatcher::WakeOne(int worker, Wake&& wake) {
  SeatOf(worker).waits = false;
  wake(worker);
}

template <class Wake>
void Dispatcher::WakeAll(Wake&& wake) {
  line_ = {};
  const auto workers = static_cast<int>(seats_.size());
  for (int worker = 0; worker < workers; ++worker) {
    if (waits(worker)) WakeOne(worker, wake);
  }
}

template <class Account>
void Dispatcher::Await(int worker, Account& account, base::Instant now) {
  Seat& seat = SeatOf(worker);
  if (dealer_.NoMoreFor(worker)) {
    Settle(worker, account, now);
    if (account.state() != trace::State::kIdle) account.Enter(trace::State::kIdle, now);
  } else if (!seat.blocked_since) {
    account.Enter(trace::State::kBlockedOnConsumer, now);
    seat.blocked_since = now;
  }
  seat.waits = true;
  if (queues_.size() == 1) line_.push_back(worker);
}

template <class Account>
void Dispatcher::Settle(int worker, Account& account, base::Instant now) {
  Seat& seat = SeatOf(worker);
  if (!seat.blocked_since) return;
  const base::Instant begin = *seat.blocked_since;
  seat.blocked_since.reset();
  // Beside one worker no other has an earlier batch: training waits for a batch that is being
  // pinned.
  if (seats_.size() == 1) return;
  const auto enter = [&](trace::State state, base::Instant when, base::Instant) {
    if (state != account.state()) account.Enter(state, when);
  };
  // The consumer's current wait counts too.
  const base::Instant known =
      consumer_waits_since_ ? std::clamp(*consumer_waits_since_, begin, now) : now;
  consumer_waits_.Over(begin, known, trace::State::kBlockedOnConsumer, enter);
  if (known < now) enter(trace::State::kBlockedOnOrder, known, now);
}

}  // namespace pipesim::engine
