// Which batch goes to which worker, and when it may: the decisions of PyTorch's DataLoader, free of
// threads and time, so that both engines make the same ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/experiment.h"

namespace pipesim::engine {

inline constexpr int kAnyWorker = -1;

/// Batch `index` of the present epoch is `worker`'s to make; kAnyWorker: whoever comes first.
struct Deal {
  std::int64_t index = 0;
  int worker = kAnyWorker;
};

/// round_robin: the next worker of the cycle that has room in its window. While batches are taken
/// in order that is worker index mod W, as nobody's window is full before his turn; out of order a
/// slow worker is passed over, as in torch.utils.data.dataloader._try_put_index (PyTorch 2.11).
/// What has been dealt is never stolen. shared: one window of prefetch_factor × W for all. Not
/// thread-safe.
class Dealer {
 public:
  explicit Dealer(const spec::Loader& loader);

  /// The cycle restarts at worker 0. Everything dealt before has been taken.
  void BeginEpoch(std::int64_t batches);
  /// What may be dealt now; nullopt when the window is full or the epoch dealt out.
  std::optional<Deal> Next();
  /// The consumer has taken a dealt batch: there is room for another.
  void Taken(const Deal& deal);
  /// No batch of this epoch will be dealt to this worker any more.
  bool NoMoreFor(int worker) const;
  bool DealtOut() const { return next_ == batches_; }

 private:
  bool shared_, in_order_;
  int workers_;
  std::int64_t window_, window_per_worker_;
  std::int64_t batches_ = 0, next_ = 0;
  std::int64_t outstanding_ = 0;            ///< dealt and not yet taken
  std::vector<std::int64_t> worker_holds_;  ///< likewise, per worker
  int cycle_ = 0;                           ///< whose turn it is
};

}  // namespace pipesim::engine
