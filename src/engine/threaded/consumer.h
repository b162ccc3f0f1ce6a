// The training loop: takes batch after batch, gives it to the trainer, and accounts for its own
// time and, when the device is asynchronous, for the device's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "engine/device_timeline.h"
#include "engine/executor.h"
#include "engine/threaded/batch_feed.h"
#include "engine/threaded/run_state.h"
#include "engine/threaded/thread_timer.h"
#include "engine/trainer.h"

namespace pipesim::engine::threaded {

/// What probing needs of the rest of the engine.
struct ProbeMeans {
  /// What to try, by the measured part's trace; see RunControl::plan_probes.
  std::function<std::optional<ProbePlan>(trace::RunTrace)> plan;
  std::function<void(int workers)> start_workers;  ///< until there are so many
};

/// Lives in the consumer thread.
class Consumer {
 public:
  Consumer(RunState& run, Trainer& trainer);
  ~Consumer();

  /// Trains until the run ends by steps, epochs, RunState::End or a failure, then waits for the
  /// device's remaining steps. Returns the instant when they were done. If the run probes and its
  /// measured part ended as planned, probes between the two, and returns when that part ended. Does
  /// not throw.
  base::Instant Run(const ProbeMeans& means);
  const trace::Probes& probes() const { return probes_; }
  /// The device did not finish in time: it may still be reading batches.
  bool gave_up() const { return gave_up_; }

 private:
  class Sink;
  class Seat;
  /// The slot of a step whose batch stays for more steps.
  static constexpr int kKeptSlot = -1;
  struct Submitted {
    std::int64_t step = 0, batch = 0;
    std::int32_t samples = 0;
    int slot = 0;  ///< to release, or kKeptSlot
  };

  void TrainEpochs();
  bool TrainEpoch(std::int64_t epoch);
  void Train(const BatchFeed::Taken& taken);
  /// Submits one step on the batch; its loss if it was read back.
  std::optional<double> Submit(const Batch& batch, int slot);
  /// The next batch, of a new epoch where needed; nullopt: the run is ending.
  std::optional<BatchFeed::Taken> TakeNext();
  void Probe(const ProbeMeans& means);
  /// Waits for the oldest steps until at most `most` are left; the loss of the last one waited for.
  std::optional<double> FinishDownTo(std::size_t most);

  RunState& run_;
  Trainer& trainer_;
  const bool asynchronous_;
  std::optional<DeviceTimeline> device_;
  std::unique_ptr<Sink> sink_;
  ThreadTimer timer_;
  std::unique_ptr<BatchFeed> feed_;
  std::deque<Submitted> submitted_;
  std::int64_t epoch_ = -1, steps_ = 0;
  std::optional<base::Instant> measured_until_;
  trace::Probes probes_;
  bool gave_up_ = false;
};

}  // namespace pipesim::engine::threaded
