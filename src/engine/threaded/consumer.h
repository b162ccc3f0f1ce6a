// The training loop: takes batch after batch, gives it to the trainer, and accounts for its own
// time and, when the device is asynchronous, for the device's.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "engine/device_timeline.h"
#include "engine/threaded/batch_feed.h"
#include "engine/threaded/run_state.h"
#include "engine/threaded/thread_timer.h"
#include "engine/trainer.h"

namespace pipesim::engine::threaded {

/// Lives in the consumer thread.
class Consumer {
 public:
  Consumer(RunState& run, Trainer& trainer);
  ~Consumer();

  /// Trains until the run ends by steps, epochs, RunState::End or a failure, then waits for the
  /// device's remaining steps. Returns the instant when they were done. Does not throw.
  base::Instant Run();
  /// The device did not finish in time: it may still be reading batches.
  bool gave_up() const { return gave_up_; }

 private:
  class Sink;
  struct Submitted {
    std::int64_t step = 0, batch = 0;
    std::int32_t samples = 0;
    int slot = 0;
  };

  void TrainEpochs();
  bool TrainEpoch(std::int64_t epoch);
  void Train(const BatchFeed::Taken& taken);
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
  std::int64_t steps_ = 0;
  bool gave_up_ = false;
};

}  // namespace pipesim::engine::threaded
