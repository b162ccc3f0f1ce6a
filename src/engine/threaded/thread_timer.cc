#include "engine/threaded/thread_timer.h"

#include <algorithm>

namespace pipesim::engine::threaded {

using base::Duration;
using base::Instant;

ThreadTimer::ThreadTimer(const base::Clock& clock, trace::SpanSink& sink, trace::Role role,
                         int thread, trace::State state, Instant begin,
                         const StageMarks* marks)
    : clock_(clock),
      sink_(sink),
      role_(role),
      thread_(static_cast<std::uint16_t>(thread)),
      state_(state),
      begun_(begin),
      range_(marks) {
  range_.Begin(state, batch_);
}

bool ThreadTimer::SleepUntil(Instant end, const base::StopFlag& stop) {
  return threaded::SleepUntil(clock_, *this, end, stop);
}

Duration ThreadTimer::ContendedBy(Instant when) const {
  const Duration wall = when - begun_;
  Duration contended{};
  if (on_cpu_) contended = wall - (base::ThreadCpuTime() - cpu_begun_);
  // Lateness from before this state counts to the state that was late.
  if (waited_until_) contended = when - std::max(*waited_until_, begun_);
  return std::clamp(contended, Duration::zero(), wall);
}

void ThreadTimer::Close(Instant when) {
  const Duration wall = when - begun_;
  const Duration contended = ContendedBy(when);
  busy_[static_cast<std::size_t>(state_)] += wall - contended;
  contended_ += contended;
  if (wall == Duration::zero()) return;
  sink_.Record(trace::Span{.begin = begun_,
                           .end = when,
                           .contended = contended,
                           .batch = batch_,
                           .samples = samples_,
                           .thread = thread_,
                           .role = role_,
                           .state = state_});
}

void ThreadTimer::Enter(trace::State state, Instant when, bool on_cpu) {
  Close(when);
  if (waited_for_other_) {
    lag_ = Duration::zero();
  } else if (waited_until_) {
    lag_ = std::max(when - *waited_until_, Duration::zero());
  } else {
    lag_ = std::min(lag_, kWakeLatency);
  }
  state_ = state;
  batch_ = next_batch_;
  samples_ = next_samples_;
  begun_ = when;
  range_.Begin(state, batch_);
  waited_until_.reset();
  waited_for_other_ = false;
  on_cpu_ = on_cpu;
  if (on_cpu) cpu_begun_ = base::ThreadCpuTime();
}

void ThreadTimer::SetBatch(std::int64_t number, std::int32_t samples) {
  batch_ = next_batch_ = number;
  samples_ = next_samples_ = samples;
}

void ThreadTimer::SetNextBatch(std::int64_t number, std::int32_t samples) {
  next_batch_ = number;
  next_samples_ = samples;
}

void ThreadTimer::Finish() {
  Close(clock_.Now());
  range_.End();
}

bool SleepUntil(const base::Clock& clock, StateTimer& timer, Instant end,
                const base::StopFlag& stop) {
  if (end <= timer.scheduled()) return true;
  if (!clock.SleepUntil(end, stop)) return false;
  timer.WaitedUntil(end);
  return true;
}

}  // namespace pipesim::engine::threaded
