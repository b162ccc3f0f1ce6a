// The consumer's steps: from a batch that is there to the end of its step, and the results read back.
#include "engine/rules.h"
#include "engine/virtual_time/consumer.h"

namespace pipesim::engine::virtual_time {

using base::Duration;
using base::Instant;
using trace::State;

bool Consumer::Train() {
  account_.SetBatch(record_.batch, record_.samples);
  // The batch needs an input buffer: the device holds at most in_flight.
  account_.Enter(State::kCompute, run_.now);
  record_.taken = run_.now;
  phase_ = Phase::kMakeRoom;
  return MakeRoom();
}

bool Consumer::MakeRoom() {
  if (!FinishDownTo(MostInFlight(run_.experiment.device) - 1)) return false;
  return device_ ? Copy() : Launch();
}

bool Consumer::Copy() {
  account_.Enter(State::kTransfer, run_.now);
  copy_ = device_->Copy(run_.now, run_.sample_bytes * batch_.samples);
  phase_ = Phase::kLaunch;
  if (copy_.host_waits && run_.Sleep(*this, copy_.end)) return false;
  return Launch();
}

bool Consumer::Launch() {
  host_time_ = run_.pipeline.host.step;
  if (device_) host_time_ += device_->LaunchTime();
  phase_ = Phase::kLaunch;
  if (SharesInterpreter() && !run_.TakeInterpreter(rank_, *this)) {
    account_.Enter(State::kStarved, run_.now);  // the loader's pin thread keeps it
    return false;
  }
  account_.Enter(State::kHost, run_.now);
  host_begin_ = run_.now;
  const Duration unlocked = SharesInterpreter() ? run_.pipeline.step.launch_unlocked : Duration::zero();
  phase_ = unlocked > Duration::zero() ? Phase::kLaunchUnlocked : Phase::kSubmit;
  return After(Wait::For({.each = host_time_ - unlocked}), phase_);
}

bool Consumer::LaunchUnlocked() {
  run_.FreeInterpreter(rank_, *this);
  return After(Wait::For({.each = run_.pipeline.step.launch_unlocked}), Phase::kSubmit);
}

/// The present step, where its pool sleeps at barriers; 0: it spins there, or that is unknown.
Duration Consumer::OnOneThread() const {
  const cost::Step& step = run_.pipeline.step;
  const bool sleeps = run_.experiment.limits.omp_wait == spec::OmpWait::kPassive;
  if (!sleeps || step_threads_ < 2 || !step.one_thread) return Duration::zero();
  return step.one_thread->At(batch_.samples);
}

/// With the pin thread, which opens the batches of worker processes.
bool Consumer::SharesInterpreter() const {
  return pin_ != nullptr && run_.pipeline.hand_over.processes && host_time_ > Duration::zero();
}

bool Consumer::Submit() {
  run_.FreeInterpreter(rank_, *this);
  const bool reads_back = ReadsBack(run_.experiment.training, steps_);
  const Phase after = run_.barrier ? Phase::kMeet : Phase::kEndStep;
  const Phase next = reads_back ? Phase::kReadBack : after;
  if (!device_) {
    account_.Enter(State::kCompute, run_.now);
    pool_.StepBegins();
    compute_ = cpu_step_->Time(steps_, batch_.samples) +
               run_.pipeline.step.LongerAfter(run_.now - last_step_);
    return After(Wait::For({.each = compute_,
                            .threads = step_threads_,
                            .meets = step_threads_ > 1,
                            .barriers = run_.pipeline.step.barriers,
                            .on_one = OnOneThread()}),
                 next);
  }
  // The host's other work came first; contention slowed both alike.
  Instant launch_begin = host_begin_;
  const Duration other = run_.pipeline.host.step;
  if (other > Duration::zero()) {
    const double share = base::ToSeconds(other) / base::ToSeconds(host_time_);
    launch_begin += base::FromSeconds(base::ToSeconds(run_.now - host_begin_) * share);
  }
  const DeviceWork work =
      device_->Launch(steps_, batch_.samples, copy_.end, launch_begin, run_.now);
  Submitted& submitted = submitted_.emplace_back();
  submitted.done.begin = work.begin;
  submitted.done.end = work.end;
  submitted.done.transfer_begin.reset();
  submitted.done.transfer_end.reset();
  submitted.done.loss.reset();
  if (copy_.begin < copy_.end) {
    submitted.done.transfer_begin = copy_.begin;
    submitted.done.transfer_end = copy_.end;
  }
  submitted.batch = record_.batch;
  submitted.samples = batch_.samples;
  compute_ = work.end - work.begin;
  if (!reads_back) {
    phase_ = next;
    return true;
  }
  account_.Enter(State::kSync, run_.now);
  return After(Wait::Until(work.end + run_.pipeline.host.read_back), next);
}

bool Consumer::ReadBack() {
  if (!FinishDownTo(0)) return false;
  phase_ = run_.barrier ? Phase::kMeet : Phase::kEndStep;
  return true;
}

/// Its own step comes first: an all-reduce needs its result.
bool Consumer::Meet() {
  if (!FinishDownTo(0)) return false;
  phase_ = Phase::kEndStep;
  if (!device_) pool_.StepEnded(step_threads_);
  if (run_.ending()) return true;
  account_.Enter(State::kSync, run_.now);
  const bool last = run_.barrier->Arrive(*this,
                                         {.accelerator = rank_.number,
                                          .epoch = epoch_,
                                          .samples = batch_.samples,
                                          .compute = compute_,
                                          .now = run_.now},
                                         run_.builder);
  if (last) run_.barrier->Release([this](Actor& actor) { run_.Wake(actor); });
  return last;
}

bool Consumer::EndStep() {
  if (!device_ && !run_.barrier) pool_.StepEnded(step_threads_);
  account_.Enter(State::kHost, run_.now);
  account_.SetBatch(-1, 0);
  record_.done = run_.now;
  record_.loaded = rank_.Loaded();
  rank_.Record(record_);
  ++steps_;
  phase_ = Phase::kLook;
  const auto& limit = run_.experiment.run.steps;
  if (rank_.is_first() && limit && steps_ >= *limit) {
    run_.End(trace::EndReason::kSteps);
    return true;
  }
  steps_at_once_ = run_.now == last_step_ ? steps_at_once_ + 1 : 0;
  last_step_ = run_.now;
  return rank_.is_first() ? TimePasses() : Rests();
}

bool Consumer::FinishDownTo(std::size_t most) {
  while (submitted_.size() > most) {
    if (account_.state() != State::kCompute) account_.Enter(State::kCompute, run_.now);
    const Submitted& oldest = submitted_.front();
    if (run_.Sleep(*this, oldest.done.end)) return false;
    if (timeline_) {
      timeline_->Done(oldest.done, oldest.batch, oldest.samples, account_.state());
    }
    submitted_.pop_front();
  }
  return true;
}

}  // namespace pipesim::engine::virtual_time
