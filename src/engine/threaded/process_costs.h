// What worker processes cost, in a run whose workers are threads: the thread that would pay burns as
// much of its own CPU time.
#pragma once

#include "engine/threaded/burn.h"
#include "engine/threaded/run_state.h"
#include "engine/threaded/thread_timer.h"

namespace pipesim::engine::threaded {

/// Belongs to one thread, whose timer it uses. Does nothing where workers are meant to be threads.
class ProcessCosts {
 public:
  /// `stop` ends burns and waits.
  ProcessCosts(RunState& run, ThreadTimer& timer, const base::StopFlag& stop)
      : run_(run), timer_(timer), stop_(stop) {}

  bool present() const { return run_.pipeline.hand_over.processes; }
  /// The consumer starts the workers of `epoch`, one after another.
  void Launch(std::int64_t epoch);
  /// A worker makes itself ready.
  void StartUp(base::Duration time);
  /// From now on the worker has a batch of `samples` samples to send.
  void HasToSend(std::int64_t epoch, std::int64_t batch, std::int64_t samples);
  /// A worker puts its batch into shared memory.
  void Share(int worker, std::int64_t epoch, std::int64_t batch, std::int64_t samples);
  /// Sends it, or the part for which `time` suffices. False: nothing was left.
  bool Send(base::Duration time = base::Duration::max());
  /// The consumer or the pin thread takes it.
  void Receive(const Slot& made);

 private:
  void Burn(trace::State state, base::Duration cost);
  /// Of the interpreter of this worker: until it rests, but no longer than `longest`.
  void WaitForLock(int worker, base::Duration longest);

  RunState& run_;
  ThreadTimer& timer_;
  const base::StopFlag& stop_;
  Burner burner_;
  base::Duration send_left_{};
};

/// A worker has work for a core as long as this lives.
class Working {
 public:
  Working(RunState& run, int worker) : run_(run), worker_(worker) { run_.SetWorking(worker_, true); }
  ~Working() { run_.SetWorking(worker_, false); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  RunState& run_;
  int worker_;
};

}  // namespace pipesim::engine::threaded
