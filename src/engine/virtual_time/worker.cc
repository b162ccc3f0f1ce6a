#include "engine/virtual_time/worker.h"

namespace pipesim::engine::virtual_time {

using base::Duration;
using trace::State;

Worker::Worker(VirtualRun& run, Rank& rank, int worker)
    : Actor(rank.first_actor + 1 + worker),
      run_(run),
      rank_(rank),
      worker_(worker),
      account_(rank.recorder, trace::Role::kWorker, worker, State::kStartup, run.now),
      maker_(run, rank, account_, worker) {}

void Worker::Resume(Duration contended) {
  account_.Contended(contended);
  for (;;) {
    if (phase_ == Phase::kPushing) phase_ = Phase::kLooking;  // the reader has made room
    if (phase_ == Phase::kLooking && !Look()) return;
    if (!Make(contended)) return;
    contended = Duration::zero();
  }
}

bool Worker::Look() {
  Dispatcher& dispatcher = rank_.dispatcher;
  while (dispatcher.epoch() != epoch_) {
    dispatcher.Settle(worker_, account_, run_.now);
    epoch_ = dispatcher.epoch();
    if (StartUp()) return false;
  }
  const std::optional<Deal> deal = dispatcher.Take(worker_);
  if (!deal) {
    dispatcher.Await(worker_, account_, run_.now);
    account_.SetBatch(-1, 0);
    return false;
  }
  dispatcher.Settle(worker_, account_, run_.now);
  maker_.Begin(*deal);
  phase_ = Phase::kMaking;
  return true;
}

bool Worker::StartUp() {
  if (epoch_ > 0 && run_.experiment.loader.persistent_workers) return false;
  const Duration time = run_.sampler.WorkerStartup(epoch_, rank_.WorkerOfAll(worker_));
  if (time == Duration::zero()) return false;
  account_.Enter(State::kStartup, run_.now);
  return run_.Sleep(*this, run_.now + time);
}

bool Worker::Make(Duration contended) {
  for (;;) {
    const Wait wait = maker_.Next(contended);
    if (wait.kind == Wait::Kind::kNoMore) break;
    if (run_.Begin(*this, wait)) return false;
    contended = Duration::zero();
  }
  phase_ = Phase::kLooking;
  if (!rank_.queue->Push(maker_.batch(), *this)) {
    phase_ = Phase::kPushing;
    account_.Enter(State::kBlockedOnConsumer, run_.now);
    return false;
  }
  if (Actor* reader = rank_.queue->ReleaseReader()) run_.Wake(*reader);
  return true;
}

void Worker::Visit(StateVisitor& visitor) {
  visitor.Same(phase_);
  visitor.Epoch(epoch_);
  account_.Visit(visitor);
  maker_.Visit(visitor);
}

void Worker::Finish() {
  rank_.dispatcher.Settle(worker_, account_, run_.now);
  if (!run_.cores_suffice) {
    account_.Contended(run_.processors.ContendedSoFar(id(), run_.now));
  }
  account_.Close(run_.now);
}

}  // namespace pipesim::engine::virtual_time
