#include "engine/threaded/process_costs.h"

#include <algorithm>

namespace pipesim::engine::threaded {

using base::Duration;
using trace::State;

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

bool ProcessCosts::Send(int worker, Duration time) {
  const Duration now = std::min(send_left_, time);
  if (now <= Duration::zero()) return false;
  send_left_ -= now;
  const Working working(run_, worker);
  Burn(State::kSend, now);
  return true;
}

void ProcessCosts::Receive(const Slot& made) {
  if (!present()) return;
  const Batch& batch = made.batch;
  const Duration wait = run_.sampler.ReceiveWait(batch.epoch, batch.index);
  if (wait > Duration::zero() && run_.IsWorking(made.worker)) {
    timer_.Enter(State::kReceive);
    timer_.SleepUntil(timer_.scheduled() + wait, stop_);
  }
  Burn(State::kReceive, run_.sampler.Receive(batch.epoch, batch.index, batch.samples));
}

}  // namespace pipesim::engine::threaded
