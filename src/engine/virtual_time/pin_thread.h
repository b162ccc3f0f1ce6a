// The pin thread in virtual time: takes batches as they are made, copies each into page-locked
// memory, and passes it on in the same order.
#pragma once

#include "engine/virtual_time/account.h"
#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

class PinThread final : public Actor {
 public:
  PinThread(VirtualRun& run, Rank& rank);

  void Resume(base::Duration contended) override;
  void Visit(StateVisitor& visitor) override;
  /// Call when the run is over: extends the account to its end.
  void Finish();
  /// Batches it has in hand.
  std::int64_t holds() const { return phase_ == Phase::kTaking ? 0 : 1; }

 private:
  enum class Phase { kTaking, kOpening, kOpened, kPinning, kPushing };
  bool Take();
  bool Open();
  bool Pin();
  bool Push();

  VirtualRun& run_;
  Rank& rank_;
  Account account_;
  Phase phase_ = Phase::kTaking;
  MadeBatch batch_;
};

}  // namespace pipesim::engine::virtual_time
