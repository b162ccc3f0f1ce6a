#include "engine/dealer.h"

namespace pipesim::engine {

Dealer::Dealer(const spec::Loader& loader)
    : shared_(loader.dispatch == spec::Dispatch::kShared),
      in_order_(loader.in_order),
      workers_(loader.workers),
      window_(loader.Window()),
      window_per_worker_(loader.prefetch_factor),
      worker_holds_(static_cast<std::size_t>(loader.workers), 0) {}

void Dealer::BeginEpoch(std::int64_t batches) {
  batches_ = batches;
  next_ = 0;
  cycle_ = 0;
}

std::optional<Deal> Dealer::Next() {
  if (DealtOut() || outstanding_ >= window_) return std::nullopt;
  Deal deal{.index = next_};
  if (!shared_) {
    // Ends: less than the whole window is out, so some worker has room.
    while (worker_holds_[static_cast<std::size_t>(cycle_)] >= window_per_worker_) Turn();
    deal.worker = cycle_;
    Turn();
    ++worker_holds_[static_cast<std::size_t>(deal.worker)];
  }
  ++next_;
  ++outstanding_;
  return deal;
}

void Dealer::Use(int workers, int prefetch_factor) {
  workers_ = workers;
  window_per_worker_ = prefetch_factor;
  window_ = std::int64_t{workers} * prefetch_factor;
  if (cycle_ >= workers_) cycle_ = 0;
  const auto most = static_cast<std::size_t>(workers);
  if (worker_holds_.size() < most) worker_holds_.resize(most, 0);
}

void Dealer::Taken(const Deal& deal) {
  --outstanding_;
  if (deal.worker != kAnyWorker) --worker_holds_[static_cast<std::size_t>(deal.worker)];
}

bool Dealer::NoMoreFor(int worker) const {
  if (worker >= workers_) return true;
  if (shared_ || !in_order_) return DealtOut();
  // In order the cycle is strict: the worker's next batch lies `ahead` deals away.
  const int ahead = worker >= cycle_ ? worker - cycle_ : worker - cycle_ + workers_;
  return ahead >= batches_ - next_;
}

}  // namespace pipesim::engine
