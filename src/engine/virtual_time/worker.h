// A worker in virtual time: starts up, makes what is dealt to it, sends it through the queue.
#pragma once

#include <optional>

#include "engine/virtual_time/batch_maker.h"

namespace pipesim::engine::virtual_time {

class Worker final : public Actor {
 public:
  Worker(VirtualRun& run, Rank& rank, int worker);

  void Resume(base::Duration contended) override;
  void Visit(StateVisitor& visitor) override;
  /// Call when the run is over: extends the account to its end.
  void Finish();

 private:
  enum class Phase { kLooking, kMaking, kServing, kSharing, kSending, kPushing };
  /// False: it waits, or a start-up passes.
  bool Look();
  bool StartUp();
  bool Open();
  /// False: it waits. Else the batch is made.
  bool Make(base::Duration contended);
  /// True: it waits while a worker process sends the part of its batch for which `wait` leaves time.
  bool SendDuring(const Wait& wait);
  /// The time for which a thread that handed over another batch had the lock. False: it passes.
  bool Serve();
  /// Puts the batch into shared memory. False: it waits meanwhile.
  bool Share();
  /// Sends the rest. False: it waits meanwhile.
  bool Send();
  /// False: it waits for room. Else the batch is in the queue.
  bool Push();
  /// Like VirtualRun::Begin.
  bool Begin(const Wait& wait);
  /// From the batch that is made to the next one, without giving up the interpreter's lock.
  bool GoesRightOn() const;

  VirtualRun& run_;
  Rank& rank_;
  int worker_;
  bool begins_on_core_;  ///< each batch
  Account account_;
  BatchMaker maker_;
  base::Duration send_left_{};      ///< of the batch in work
  std::optional<Wait> interrupted_;  ///< by sending
  trace::State interrupted_in_{};
  Phase phase_ = Phase::kLooking;
  std::int64_t epoch_ = -1;
  bool opens_ = false;  ///< started, and its data set has yet to open its files
};

}  // namespace pipesim::engine::virtual_time
