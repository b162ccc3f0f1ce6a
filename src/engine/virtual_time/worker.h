// A worker in virtual time: starts up, makes what is dealt to it, sends it through the queue.
#pragma once

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
  enum class Phase { kLooking, kMaking, kPushing };
  /// False: it waits, or a start-up passes.
  bool Look();
  bool StartUp();
  /// False: it waits. Else the batch is in the queue.
  bool Make(base::Duration contended);

  VirtualRun& run_;
  Rank& rank_;
  int worker_;
  Account account_;
  BatchMaker maker_;
  Phase phase_ = Phase::kLooking;
  std::int64_t epoch_ = -1;
};

}  // namespace pipesim::engine::virtual_time
