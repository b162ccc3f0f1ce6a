#include "engine/virtual_time/pin_thread.h"

namespace pipesim::engine::virtual_time {

using base::Duration;
using trace::State;

PinThread::PinThread(VirtualRun& run, Rank& rank)
    : Actor(rank.first_actor + rank.workers + 1),
      run_(run),
      rank_(rank),
      account_(rank.recorder, trace::Role::kPin, 0, State::kStarved, run.now) {}

void PinThread::Resume(Duration contended) {
  account_.Contended(contended);
  for (;;) {
    if (phase_ == Phase::kPushing) phase_ = Phase::kTaking;  // the consumer has made room
    if (phase_ == Phase::kTaking && !Take()) return;
    if (phase_ == Phase::kOpening && !Open()) return;
    if (phase_ == Phase::kOpened && !Pin()) return;
    if (!Push()) return;
  }
}

// False: it waits, for a batch or for the interpreter of the process that made it.
bool PinThread::Take() {
  const std::optional<Channel::Popped> popped = rank_.queue->Pop();
  if (!popped) {
    account_.Enter(State::kStarved, run_.now);
    account_.SetBatch(-1, 0);
    rank_.queue->SetReader(this);
    return false;
  }
  batch_ = popped->batch;
  const bool opens = run_.pipeline.hand_over.processes;
  phase_ = opens ? Phase::kOpening : Phase::kOpened;
  account_.Enter(opens ? State::kReceive : State::kPin, run_.now);
  account_.SetBatch(rank_.dispatcher.NumberOf(batch_.deal), batch_.samples);
  if (popped->released != nullptr) run_.Wake(*popped->released);
  return !opens || !run_.WaitForAnswers(rank_, batch_, *this);
}

// False: it works, or waits for the trainer's interpreter.
bool PinThread::Open() {
  rank_.opens_of = -1;
  if (!run_.TakeInterpreter(rank_, *this)) {
    account_.Enter(State::kBlockedOnConsumer, run_.now);
    return false;
  }
  if (account_.state() != State::kReceive) account_.Enter(State::kReceive, run_.now);
  phase_ = Phase::kOpened;
  return !run_.Begin(*this, Wait::For(run_.ReceiveWork(rank_, batch_)));
}

// False: it works.
bool PinThread::Pin() {
  run_.FreeInterpreter(rank_, *this);
  phase_ = Phase::kPinning;
  account_.Enter(State::kPin, run_.now);
  return !run_.Begin(*this, Wait::For(run_.PinWork(batch_.samples)));
}

// False: it waits for room.
bool PinThread::Push() {
  if (!rank_.pinned->Push(batch_, *this)) {
    phase_ = Phase::kPushing;
    account_.Enter(State::kBlockedOnConsumer, run_.now);
    return false;
  }
  phase_ = Phase::kTaking;
  if (Actor* reader = rank_.pinned->ReleaseReader()) run_.Wake(*reader);
  return true;
}

void PinThread::Visit(StateVisitor& visitor) {
  visitor.Same(phase_);
  account_.Visit(visitor);
  VisitBatch(visitor, batch_);
}

void PinThread::Finish() {
  if (!run_.cores_suffice) {
    account_.Contended(run_.processors.ContendedSoFar(id(), run_.now));
  }
  account_.Finish(run_.now);
}

}  // namespace pipesim::engine::virtual_time
