// Accounts for one thread's time: its state, since when, and the instant from which its emulated
// work is scheduled. Every span ends where the next begins, so a thread's spans tile its time.
#pragma once

#include <array>
#include <optional>

#include "base/clock.h"
#include "engine/stage_marks.h"
#include "engine/trainer.h"
#include "trace/span.h"

namespace pipesim::engine::threaded {

/// Belongs to one thread. Records into `sink`, which outlives it.
///
/// The thread's schedule runs behind the clock by the lag: the lateness of its last wake-up.
/// Sleeping stages pass it on in full, so that a chain of them keeps its rate however late each
/// wakes (never re-base). Work on a core passes on at most what a wake-up costs (kWakeLatency):
/// more lateness than that was a wait for a core, which delays real work for real. A wait for
/// another thread ends now: no lag.
class ThreadTimer final : public StateTimer {
 public:
  /// Waking an idle core was measured at 24 to 87 us, and a default timer overshoots by 54.
  static constexpr base::Duration kWakeLatency = std::chrono::microseconds(100);

  /// `marks`: also marks each state for a profiler; nullptr: does not.
  ThreadTimer(const base::Clock& clock, trace::SpanSink& sink, trace::Role role, int thread,
              trace::State state, base::Instant begin, const StageMarks* marks = nullptr);

  void Enter(trace::State state) override {
    Enter(state, clock_.Now(), state == trace::State::kHost && host_on_cpu_);
  }
  base::Instant scheduled() const override { return begun_ - lag_; }
  /// Time in the present state after `end` counts as lateness, so enter the next state at once.
  void WaitedUntil(base::Instant end) override { waited_until_ = end; }

  /// From now on kHost counts as work on a core, too: requires that no driver call sleeps in it.
  void HostIsCpuWork() { host_on_cpu_ = true; }
  /// Enters a state that works on a core: wall time beyond its CPU time is contended.
  void EnterCpu(trace::State state) { Enter(state, clock_.Now(), true); }
  /// The present state waits for another thread, not for an instant.
  void WaitedForOther() { waited_for_other_ = true; }
  /// The present state, entered as work on a core, also waited for a device: its time without a
  /// core cannot be attributed to contention.
  void WaitedForDevice() { on_cpu_ = false; }
  /// Enters `state` as of `when`, which lies between begun() and now: for a wait whose owner is
  /// known only afterwards.
  void Enter(trace::State state, base::Instant when, bool on_cpu = false);
  /// Sleeps until the present state's emulated end; returns at once if that has passed.
  /// False: `stop` was set first.
  bool SleepUntil(base::Instant end, const base::StopFlag& stop);
  /// Sets the batch of the spans from now on, the present one included.
  void SetBatch(std::int64_t number, std::int32_t samples);
  /// Sets the batch of the spans from the next state on; the present one keeps its batch.
  void SetNextBatch(std::int64_t number, std::int32_t samples);
  /// Records the last span. The timer is not used again.
  void Finish();
  /// What the thread does from now on is not marked.
  void EndMarks() { range_.End(); }

  base::Instant Now() const { return clock_.Now(); }
  trace::State state() const { return state_; }
  /// When the present state began, by the clock.
  base::Instant begun() const { return begun_; }
  /// Thread CPU time when the present state began; only of a state that works on a core.
  base::Duration cpu_begun() const { return cpu_begun_; }
  /// Running totals over the spans recorded so far: time in `state` without its contended part, and
  /// the contended parts of all.
  base::Duration busy(trace::State state) const { return busy_[static_cast<std::size_t>(state)]; }
  base::Duration contended() const { return contended_; }

 private:
  base::Duration ContendedBy(base::Instant when) const;
  void Close(base::Instant when);

  const base::Clock& clock_;
  trace::SpanSink& sink_;
  trace::Role role_;
  std::uint16_t thread_;
  trace::State state_;
  base::Instant begun_;
  base::Duration lag_{};                       ///< >= 0: the clock is ahead of the schedule
  base::Duration cpu_begun_{};                 ///< thread CPU time when the present state began
  std::optional<base::Instant> waited_until_;  ///< where the present state ends by its schedule
  bool on_cpu_ = false, waited_for_other_ = false, host_on_cpu_ = false;
  std::int64_t batch_ = -1, next_batch_ = -1;
  std::int32_t samples_ = 0, next_samples_ = 0;
  std::array<base::Duration, trace::kStateCount> busy_{};
  base::Duration contended_{};
  StageRange range_;
};

/// Waits for an emulated instant in the present state of any timer; the rule of never re-basing.
/// False: `stop` was set first.
bool SleepUntil(const base::Clock& clock, StateTimer& timer, base::Instant end,
                const base::StopFlag& stop);

}  // namespace pipesim::engine::threaded
