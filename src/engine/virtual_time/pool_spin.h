// The trainer's pool between two steps on the CPU: its threads spin for a while, each on a core
// that other threads may want, before they sleep (libgomp's OMP_WAIT_POLICY=default).
#pragma once

#include "engine/virtual_time/actor.h"

namespace pipesim::engine::virtual_time {

struct VirtualRun;

/// Of one trainer. Does nothing where Machine::pool_spin is absent or the wait is passive. libgomp counts turns of a
/// loop, so a thread that shares its core spins for longer.
class PoolSpin final : public Actor {
 public:
  PoolSpin(VirtualRun& run, int id);

  /// A step of `threads` threads is over: all but the trainer's own spin from now on.
  void StepEnded(int threads);
  /// The next step begins and uses the threads.
  void StepBegins();
  /// They sleep.
  void Resume(base::Duration) override {}
  void Visit(StateVisitor&) override {}

 private:
  VirtualRun& run_;
  base::Duration time_;  ///< on a core of its own
};

}  // namespace pipesim::engine::virtual_time
