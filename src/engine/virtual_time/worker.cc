#include "engine/virtual_time/worker.h"

namespace pipesim::engine::virtual_time {

using base::Duration;
using trace::State;

Worker::Worker(VirtualRun& run, int worker)
    : Actor(worker + 1),
      run_(run),
      worker_(worker),
      account_(run.builder, trace::Role::kWorker, worker, State::kStartup, run.now),
      maker_(run, account_, worker) {}

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
  while (run_.desk.epoch() != epoch_) {
    run_.desk.Settle(worker_, account_);
    epoch_ = run_.desk.epoch();
    if (StartUp()) return false;
  }
  const std::optional<Deal> deal = run_.desk.Take(worker_);
  if (!deal) {
    run_.desk.Await(worker_, account_);
    return false;
  }
  run_.desk.Settle(worker_, account_);
  maker_.Begin(*deal);
  phase_ = Phase::kMaking;
  return true;
}

bool Worker::StartUp() {
  if (epoch_ > 0 && run_.experiment.loader.persistent_workers) return false;
  const Duration time = run_.sampler.WorkerStartup(epoch_, worker_);
  if (time == Duration::zero()) return false;
  account_.Enter(State::kStartup, run_.now);
  return run_.Begin(*this, Wait::Until(run_.now + time));
}

bool Worker::Make(Duration contended) {
  while (const std::optional<Wait> wait = maker_.Next(contended)) {
    if (run_.Begin(*this, *wait)) return false;
    contended = Duration::zero();
  }
  phase_ = Phase::kLooking;
  if (!run_.queue->Push(maker_.batch(), *this)) {
    phase_ = Phase::kPushing;
    account_.Enter(State::kBlockedOnConsumer, run_.now);
    return false;
  }
  if (Actor* reader = run_.queue->ReleaseReader()) run_.Wake(*reader);
  return true;
}

void Worker::Finish() {
  run_.desk.Settle(worker_, account_);
  if (!run_.cores_suffice) {
    account_.Contended(run_.processors.ContendedSoFar(id(), run_.now));
  }
  account_.Close(run_.now);
}

std::optional<MadeBatch> Worker::task() const {
  return phase_ == Phase::kLooking ? std::nullopt : std::optional(maker_.batch());
}

}  // namespace pipesim::engine::virtual_time
