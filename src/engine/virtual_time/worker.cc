#include "engine/virtual_time/worker.h"

#include <algorithm>
#include <utility>

namespace pipesim::engine::virtual_time {

using base::Duration;
using trace::State;

Worker::Worker(VirtualRun& run, Rank& rank, int worker)
    : Actor(rank.first_actor + 1 + worker),
      run_(run),
      rank_(rank),
      worker_(worker),
      begins_on_core_(run.storage_is_free() && run.pipeline.prepare.wait.IsZero() &&
                      run.pipeline.prepare.kind != cost::Prepare::Kind::kWait),
      account_(rank.recorder, trace::Role::kWorker, worker, State::kStartup, run.now),
      maker_(run, rank, account_, worker) {}

void Worker::Resume(Duration contended) {
  account_.Contended(contended);
  for (;;) {
    if (phase_ == Phase::kPushing) phase_ = Phase::kLooking;  // the reader has made room
    if (phase_ == Phase::kLooking) {
      contended = Duration::zero();  // of its start-up, not of a batch
      if (!Look()) return;
    }
    if (phase_ == Phase::kMaking && (!Make(contended) || !Serve())) return;
    if (phase_ == Phase::kServing && !Share()) return;
    if (phase_ == Phase::kSharing && !Send()) return;
    if (!Push()) return;
  }
}

bool Worker::Begin(const Wait& wait) {
  const bool waits = run_.Begin(*this, wait);
  if (waits && phase_ != Phase::kLooking)
    run_.SetHoldsLock(rank_, worker_, wait.kind == Wait::Kind::kWork);
  return waits;
}

bool Worker::GoesRightOn() const {
  return begins_on_core_ && rank_.dispatcher.HasDealt(worker_);
}

bool Worker::Look() {
  Dispatcher& dispatcher = rank_.dispatcher;
  while (dispatcher.EpochOf(worker_) != epoch_) {
    dispatcher.Settle(worker_, account_, run_.now);
    epoch_ = dispatcher.EpochOf(worker_);
    if (StartUp()) return false;
  }
  if (std::exchange(opens_, false) && Open()) return false;
  const std::optional<Deal> deal = dispatcher.Take(worker_);
  if (!deal) {
    dispatcher.Await(worker_, account_, run_.now);
    rank_.served[static_cast<std::size_t>(worker_)] = Duration::zero();  // it rests meanwhile
    account_.SetBatch(-1, 0);
    return false;
  }
  dispatcher.Settle(worker_, account_, run_.now);
  maker_.Begin(*deal);
  send_left_ = run_.SendWork(rank_, maker_.batch()).each;
  phase_ = Phase::kMaking;
  return true;
}

bool Worker::StartUp() {
  if (epoch_ > 0 && run_.experiment.loader.persistent_workers) return false;
  opens_ = true;
  const Duration time = run_.sampler.WorkerStartup(epoch_, rank_.WorkerOfAll(worker_));
  if (time == Duration::zero()) return false;
  account_.Enter(State::kStartup, run_.now);
  const bool works = run_.pipeline.hand_over.processes;  // imports modules, sets seeds
  return Begin(works ? Wait::For({.each = time}) : Wait::Until(run_.now + time));
}

bool Worker::Open() {
  const Duration time = run_.experiment.loader.worker_opening;
  if (time == Duration::zero()) return false;
  account_.Enter(State::kStartup, run_.now);
  return Begin(Wait::Until(run_.now + time));
}

bool Worker::Make(Duration contended) {
  if (interrupted_) {
    account_.Enter(interrupted_in_, run_.now);
    const Wait rest = *std::exchange(interrupted_, std::nullopt);
    if (Begin(rest)) return false;
    contended = Duration::zero();
  }
  for (;;) {
    const Wait wait = maker_.Next(contended);
    if (wait.kind == Wait::Kind::kNoMore) break;
    if (maker_.idles() && SendDuring(wait)) return false;
    if (Begin(wait)) return false;
    contended = Duration::zero();
  }
  return true;
}

bool Worker::SendDuring(const Wait& wait) {
  const Duration time = std::min(send_left_, wait.until - run_.now);
  if (time <= Duration::zero()) return false;
  send_left_ -= time;
  interrupted_ = wait;
  interrupted_in_ = account_.state();
  account_.Enter(State::kSend, run_.now);
  run_.SetHoldsLock(rank_, worker_, false);
  return run_.Begin(*this, Wait::For({.each = time}));
}

bool Worker::Serve() {
  phase_ = Phase::kServing;
  const Duration time = std::exchange(rank_.served[static_cast<std::size_t>(worker_)], Duration::zero());
  if (time <= Duration::zero()) return true;
  account_.Enter(State::kSend, run_.now);
  return !run_.Begin(*this, Wait::Until(run_.now + time));
}

bool Worker::Share() {
  phase_ = Phase::kSharing;
  const Work work = run_.ShareWork(rank_, maker_.batch());
  if (work.each <= Duration::zero()) return true;
  account_.Enter(State::kSend, run_.now);
  return !Begin(Wait::For(work));
}

bool Worker::Send() {
  phase_ = Phase::kSending;
  run_.SetHoldsLock(rank_, worker_, GoesRightOn());
  if (send_left_ <= Duration::zero()) return true;
  account_.Enter(State::kSend, run_.now);
  return !run_.Begin(*this, Wait::For({.each = std::exchange(send_left_, Duration::zero())}));
}

bool Worker::Push() {
  run_.SetHoldsLock(rank_, worker_, GoesRightOn());
  phase_ = Phase::kLooking;
  if (!rank_.queue->Push(maker_.batch(), *this)) {
    phase_ = Phase::kPushing;
    run_.SetHoldsLock(rank_, worker_, false);
    account_.Enter(State::kBlockedOnConsumer, run_.now);
    return false;
  }
  if (Actor* reader = rank_.queue->ReleaseReader()) run_.Wake(*reader);
  return true;
}

void Worker::Visit(StateVisitor& visitor) {
  visitor.Same(phase_);
  maker_.Visit(visitor);
  if (visitor.hashes()) return;  // the rest mostly follows from these, and from when it goes on
  visitor.Epoch(epoch_);
  account_.Visit(visitor);
  visitor.Same(send_left_);
  visitor.Same(interrupted_.has_value());
  if (!interrupted_) return;
  visitor.Time(interrupted_->until);
  visitor.Same(interrupted_in_);
}

void Worker::Finish() {
  maker_.Finish();
  rank_.dispatcher.Settle(worker_, account_, run_.now);
  if (!run_.cores_suffice) {
    account_.Contended(run_.processors.ContendedSoFar(id(), run_.now));
  }
  account_.Finish(run_.now);
}

}  // namespace pipesim::engine::virtual_time
