#include "engine/threaded/process_costs.h"

#include <algorithm>
#include <mutex>

namespace pipesim::engine::threaded {

using base::Duration;
using trace::State;

namespace {
// A worker works in short parts: telling the taker of each of their ends would let it in between two.
constexpr Duration kLookEvery = std::chrono::microseconds(100);
}  // namespace

void ProcessCosts::Burn(State state, Duration cost) {
  if (cost <= Duration::zero()) return;
  timer_.EnterCpu(state);
  burner_.Burn(cost, stop_);
}

void ProcessCosts::Launch(std::int64_t epoch) {
  const spec::Loader& loader = run_.experiment.loader;
  if (!present() || (epoch > 0 && loader.persistent_workers)) return;
  for (int worker = 0; worker < loader.workers; ++worker) {
    Burn(State::kStarved, run_.pipeline.hand_over.launch);
    run_.dispatcher.Launched(epoch, worker);
  }
}

void ProcessCosts::StartUp(Duration time) { Burn(State::kStartup, time); }

void ProcessCosts::HasToSend(std::int64_t epoch, std::int64_t batch, std::int64_t samples) {
  if (present()) send_left_ = run_.sampler.Send(epoch, batch, samples);
}

void ProcessCosts::Share(int worker, std::int64_t epoch, std::int64_t batch, std::int64_t samples) {
  if (!present()) return;
  if (const Duration served = run_.TakeServed(worker); served > Duration::zero()) {
    timer_.Enter(State::kSend);
    timer_.SleepUntil(timer_.scheduled() + served, stop_);
  }
  const Working working(run_, worker);
  Burn(State::kSend, run_.sampler.Share(epoch, batch, samples));
}

bool ProcessCosts::Send(Duration time) {
  const Duration now = std::min(send_left_, time);
  if (now <= Duration::zero()) return false;
  send_left_ -= now;
  Burn(State::kSend, now);
  return true;
}

void ProcessCosts::WaitForLock(int worker, Duration longest) {
  if (longest <= Duration::zero() || !run_.IsWorking(worker)) return;
  const base::Instant end = timer_.scheduled() + longest;
  base::Instant look = timer_.scheduled();
  do {
    look = std::min(look + kLookEvery, end);
  } while (timer_.SleepUntil(look, stop_) && look < end && run_.IsWorking(worker));
}

void ProcessCosts::Receive(const Slot& made) {
  if (!present()) return;
  const Batch& batch = made.batch;
  timer_.Enter(State::kReceive);
  WaitForLock(made.worker, run_.sampler.ReceiveWait(batch.epoch, batch.index));
  const Duration latency = run_.sampler.ReceiveLatency(batch.epoch, batch.index);
  if (latency > Duration::zero()) timer_.SleepUntil(timer_.scheduled() + latency, stop_);
  std::unique_lock lock(run_.interpreter, std::try_to_lock);
  if (!lock) {
    timer_.Enter(State::kBlockedOnConsumer);
    timer_.WaitedForOther();
    lock.lock();
  }
  const Duration serve = run_.sampler.Serve(batch.epoch, batch.index, batch.samples);
  run_.Serve(made.worker, serve);
  Burn(State::kReceive, serve + run_.sampler.Receive(batch.epoch, batch.index, batch.samples));
}

}  // namespace pipesim::engine::threaded
