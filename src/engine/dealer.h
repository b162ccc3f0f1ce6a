// Assigns batches to workers by the rules of PyTorch's DataLoader. Knows no threads and no time, so
// that both engines share it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/state_visitor.h"
#include "spec/experiment.h"

namespace pipesim::engine {

inline constexpr int kAnyWorker = -1;

/// Batch `index` of the current epoch is assigned to `worker`; kAnyWorker: to the first free one.
struct Deal {
  std::int64_t index = 0;
  int worker = kAnyWorker;
};

inline void VisitDeal(StateVisitor& visitor, Deal& deal) {
  visitor.Index(deal.index);
  visitor.Same(deal.worker);
}

/// round_robin: the next worker in the cycle with room in its window. In order this is always
/// worker index mod W, because no worker's window fills before its turn; out of order a slow worker
/// is skipped, as in torch.utils.data.dataloader._try_put_index (PyTorch 2.11). There is no work
/// stealing. shared: one window of prefetch_factor × W for all workers. Not thread-safe.
class Dealer {
 public:
  explicit Dealer(const spec::Loader& loader);

  /// Restarts the cycle at worker 0. All batches dealt before must have been taken.
  void BeginEpoch(std::int64_t batches);
  /// Deals the next batch; nullopt when the window is full or the epoch has no more.
  std::optional<Deal> Next();
  /// The consumer has taken a dealt batch, which makes room for another.
  void Taken(const Deal& deal);
  /// Whether this worker gets no more batches in this epoch.
  bool NoMoreFor(int worker) const;
  /// Deals to the workers 0 to `workers` - 1, with this window, from now on; they may be more than
  /// the loader has. What was dealt before stays where it is.
  void Use(int workers, int prefetch_factor);
  bool shared() const { return shared_; }
  bool DealtOut() const { return next_ == batches_; }
  /// Batches of this epoch that are dealt.
  std::int64_t dealt() const { return next_; }
  void Visit(StateVisitor& visitor) {
    visitor.Index(next_);
    visitor.Same(outstanding_);
    for (const std::int64_t holds : worker_holds_) visitor.Same(holds);
    visitor.Same(cycle_);
  }

 private:
  void Turn() { cycle_ = cycle_ + 1 == workers_ ? 0 : cycle_ + 1; }

  bool shared_, in_order_;
  int workers_;  ///< that batches are dealt to
  std::int64_t window_, window_per_worker_;
  std::int64_t batches_ = 0, next_ = 0;
  std::int64_t outstanding_ = 0;            ///< dealt and not yet taken
  std::vector<std::int64_t> worker_holds_;  ///< likewise, per worker
  int cycle_ = 0;                           ///< the next worker in the cycle
};

}  // namespace pipesim::engine
