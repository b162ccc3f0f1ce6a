// Makes one batch in virtual time: reads and prepares its samples chunk by chunk, then collates. A
// worker does it, or the consumer itself at 0 workers. Returns each wait; its owner waits. Tasks of a
// worker that concern nobody else make one wait (stretch.h).
#pragma once

#include "engine/virtual_time/account.h"
#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

/// Belongs to one virtual thread, whose account it uses.
class BatchMaker {
 public:
  BatchMaker(VirtualRun& run, Rank& rank, Account& account, int worker);

  /// Batch `deal.index` of the present epoch.
  void Begin(const Deal& deal);
  /// Call when the last wait is over. Returns the next one, or kNoMore when the batch is made; then
  /// the account is left in kCollate.
  Wait Next(base::Duration contended);
  const MadeBatch& batch() const { return batch_; }
  /// Call when the run is over: ends a stretch as far as it has come.
  void Finish();
  /// The wait that Next() returned is for the storage or a stated wait, not for a core.
  bool idles() const { return stage_ == Stage::kWaitInPrepare || stage_ == Stage::kPrepare; }
  void Visit(StateVisitor& visitor);

 private:
  enum class Stage {
    kRead,
    kAsk,
    kTransferred,
    kWaitInPrepare,
    kPrepare,
    kHandOver,
    kHandedOver,
    kCollate,
    kMade
  };
  Wait Read();
  Wait Ask();
  Wait Transferred();
  Wait WaitInPrepare();
  Wait Prepare();
  Wait HandedOver();
  Wait Collate();
  void CountLoaded();
  void Demand(std::int64_t samples);
  /// Whether the chunk that has been read begins a stretch.
  bool BeginsStretch() const;
  Wait Ahead(base::Instant read);
  void PrepareAhead(Stretch& stretch);
  void PrepareRestAhead(Stretch& stretch);
  void CollateAhead(Stretch& stretch);
  void EnterAhead(const Stretch& stretch, base::Instant until);
  void EndStretch();

  VirtualRun& run_;
  Rank& rank_;
  Account& account_;
  std::int64_t chunk_samples_;
  int burn_threads_;
  base::Duration handover_;  ///< between them, each time they burn
  bool works_alone_;  ///< nobody else wants its cores
  Stretch* stretch_;  ///< nullptr: it goes through no stretches
  MadeBatch batch_;
  std::int64_t left_ = 0;                 ///< samples not yet read
  std::int64_t loaded_ = 0;               ///< of this batch, counted by the rank
  Stage stage_ = Stage::kMade;
  ChunkDemand demand_;          ///< of the present chunk
  std::int64_t demanded_ = 0;   ///< its samples
  base::Instant asked_;  ///< when its transfer began, where the storage shares its bandwidth
  trace::BatchRecord record_;
};

}  // namespace pipesim::engine::virtual_time
