// Where workers find what to make next, and whose fault it is when there is nothing: the dealer's
// decisions in virtual time.
#pragma once

#include <optional>
#include <vector>

#include "engine/dealer.h"
#include "engine/ring.h"
#include "engine/state_history.h"
#include "engine/virtual_time/account.h"

namespace pipesim::engine::virtual_time {

struct Rank;
struct VirtualRun;

/// Of one rank. Idle workers of `dispatch: shared` are served in the order in which
/// they came to wait.
class WorkDesk {
 public:
  WorkDesk(VirtualRun& run, const Rank& rank, const spec::Loader& loader);

  // The consumer's side.
  /// Deals the first window and wakes all who wait.
  void BeginEpoch(std::int64_t epoch, std::int64_t batches);
  /// The batch was taken: its index is free to be sent again.
  void Taken(const Deal& deal);
  void ConsumerWaits();
  void ConsumerGoesOn();

  std::int64_t epoch() const { return epoch_; }  ///< -1 before the first
  /// The running number over the run of a batch of the present epoch.
  std::int64_t NumberOf(const Deal& deal) const { return first_number_ + deal.index; }

  // A worker's side.
  std::optional<Deal> Take(int worker);
  /// There is nothing to take: `account` goes to kIdle when this epoch has nothing more for the
  /// worker, else to a blocked state that Settle will name. Woken when there may be more.
  void Await(int worker, Account& account);
  /// The wait is over. Of a blocked one the time in which the consumer waited, too, becomes
  /// kBlockedOnOrder (the window is full because an earlier batch is unfinished), the rest is
  /// kBlockedOnConsumer.
  void Settle(int worker, Account& account);

  /// The lowest index that is dealt and that nobody has begun.
  std::optional<std::int64_t> OldestUnbegun() const;

 private:
  struct Seat {
    bool waits = false;                          ///< to be woken
    std::optional<base::Instant> blocked_since;  ///< not yet settled
  };
  Ring<Deal>& LaneOf(int worker) {
    return lanes_[lanes_.size() == 1 ? 0 : static_cast<std::size_t>(worker)];
  }
  void WakeAll();
  void Wake(int worker);
  void ForgetOldWaits();

  VirtualRun& run_;
  const Rank& rank_;
  Dealer dealer_;
  std::vector<Ring<Deal>> lanes_;  ///< round robin: one a worker; shared: one
  std::vector<Seat> seats_;        ///< by worker
  Ring<int> line_;                 ///< shared: who waits, the first first
  std::int64_t epoch_ = -1, first_number_ = 0;
  StateHistory consumer_waits_;
  std::size_t waits_kept_ = 0;  ///< after the last clearing
  std::optional<base::Instant> consumer_waits_since_;
};

}  // namespace pipesim::engine::virtual_time
