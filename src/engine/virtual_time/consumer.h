// The consumer of one accelerator in virtual time: takes batches in order and trains on them. The
// first one ends the run.
#pragma once

#include "engine/device_timeline.h"
#include "engine/emulated_device.h"
#include "engine/order_buffer.h"
#include "engine/virtual_time/batch_maker.h"
#include "engine/virtual_time/pin_thread.h"
#include "engine/virtual_time/pool_spin.h"

namespace pipesim::engine::virtual_time {

class Consumer final : public Actor {
 public:
  /// `pin` may be nullptr.
  Consumer(VirtualRun& run, Rank& rank, const PinThread* pin, PoolSpin& pool);

  void Resume(base::Duration contended) override;
  void Visit(StateVisitor& visitor) override;
  /// When it began to wait for a batch; nullopt when it does not.
  std::optional<base::Instant> waits_since() const { return waits_since_; }
  bool asynchronous() const { return device_.has_value(); }
  /// Mean time of a full step that nothing else slows.
  base::Duration FullStep() const;

 private:
  /// The next phase. Each phase's function returns false when it must wait.
  enum class Phase {
    kBeginEpoch,
    kLaunched,
    kLook,
    kReceive,
    kOpen,
    kOpened,
    kMake,
    kOwnPin,
    kTrain,
    kMakeRoom,
    kLaunch,
    kLaunchUnlocked,
    kSubmit,
    kReadBack,
    kMeet,
    kEndStep,
    kFinish
  };
  bool Go();
  bool BeginEpoch();
  bool LaunchWorker();
  bool Launched();
  bool DealBatches();
  void WakeWorker(int worker);
  bool Look();
  bool Receive();
  /// A batch of a worker process that waits to be opened: first for its worker, then by work.
  bool Open();
  bool Opened();
  bool Received(const MadeBatch& batch);
  void EndStarving();
  void Taken(const MadeBatch& batch, base::Duration starved);
  bool Make();
  bool OwnPin();
  bool Train();
  bool MakeRoom();
  bool Copy();
  bool Launch();
  bool LaunchUnlocked();
  bool SharesInterpreter() const;
  bool Submit();
  base::Duration OnOneThread() const;
  bool ReadBack();
  bool Meet();
  bool EndStep();
  bool EndEpoch();
  bool Finish();
  bool FinishDownTo(std::size_t most);
  /// Continues with `next` when `wait` is over. False: it must wait.
  bool After(const Wait& wait, Phase next);
  /// First accelerator only: ends a run in which virtual time no longer advances.
  bool TimePasses();
  /// Other accelerators only: lets time advance if their steps take none.
  bool Rests();

  VirtualRun& run_;
  Rank& rank_;
  const PinThread* pin_;
  PoolSpin& pool_;
  std::optional<EmulatedDevice> device_;  ///< nullopt: the CPU trains
  std::optional<cost::StepServer> cpu_step_;
  int step_threads_ = 0;  ///< of the CPU that trains
  std::optional<DeviceTimeline> timeline_;  ///< where it is recorded
  Account account_;
  BatchMaker maker_;  ///< at 0 workers
  OrderBuffer<MadeBatch> ready_;
  Phase phase_ = Phase::kBeginEpoch;
  base::Duration contended_{};  ///< of the work that has just ended

  std::int64_t epoch_ = -1, taken_ = 0;  ///< batches of this epoch
  int launched_ = 0;                     ///< worker processes of this epoch
  std::int64_t steps_ = 0;
  std::optional<base::Instant> starved_since_, waits_since_;
  base::Duration starved_{};  ///< for the next batch, so far
  base::Instant making_since_;
  MadeBatch batch_;
  trace::StepRecord record_;  ///< of the present step
  DeviceCopy copy_{};
  base::Instant host_begin_;
  base::Duration host_time_{};
  base::Duration compute_{};  ///< of the present step, where accelerators meet
  struct Submitted {
    StepDone done;
    std::int64_t batch = 0;
    std::int32_t samples = 0;
  };
  Ring<Submitted> submitted_;
  base::Instant last_step_;
  std::int64_t steps_at_once_ = 0;  ///< since time last moved
};

}  // namespace pipesim::engine::virtual_time
