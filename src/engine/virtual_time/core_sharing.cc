#include "engine/virtual_time/core_sharing.h"

#include <algorithm>
#include <cmath>

namespace pipesim::engine::virtual_time {

CoreSharing::CoreSharing(const cost::Machine& machine, std::optional<base::Duration> slice)
    : processors_(machine.Processors()),
      quota_(machine.cores < processors_ ? machine.cores : 0),
      others_(machine.others),
      slice_(slice) {}

/// Cores that other programs have now: what the threads leave them, or what they take from the
/// threads, but no more than a fair share.
double CoreSharing::Held(double threads) const {
  if (processors_ == 0 || others_.wanted == 0) return 0;
  const double fair =
      processors_ * std::max(others_.share, others_.wanted / (others_.wanted + threads));
  const double taken = std::min(others_.held, fair);
  return std::min(others_.wanted, std::max(processors_ - threads, taken));
}

/// Cores that other programs get beside `threads` of their own group.
double CoreSharing::HeldByPeers(double threads) const {
  return std::min(others_.wanted, processors_ * others_.wanted / (others_.wanted + threads));
}

/// From threads that do not wait for one another.
double CoreSharing::HeldFromThreads(double threads) const {
  if (!(others_.beside > 0) || processors_ == 0) return Held(threads);
  // No more than thread by thread, which leaves every thread something.
  const double share = HeldByPeers(threads);
  const double taken =
      std::min(share, others_.held * share / HeldByPeers(std::max(1.0, others_.beside)));
  return std::min(others_.wanted, std::max(processors_ - threads, taken));
}

double CoreSharing::ThrottleOf(double running) const {
  return quota_ > 0 && running > quota_ ? quota_ / running : 1;
}

double CoreSharing::Throttle(double threads) const {
  return ThrottleOf(std::min(threads, processors_ - Held(threads)));
}

double CoreSharing::RateOfEach(double threads) const {
  if (processors_ == 0) return 1;
  const double free = processors_ - HeldFromThreads(threads);
  const double rate = threads > free ? free / threads : 1;
  return rate * Throttle(threads);
}

double CoreSharing::RateOn(double cores, const PoolOfThreads& pool, double threads) const {
  if (cores <= 0) return 0;
  if (threads <= cores) return 1;
  const double turns = threads / cores;
  const double slice = static_cast<double>(slice_->count()) / static_cast<double>(pool.each.count());
  const double slices = slice * pool.barriers;
  // Each barrier waits until all threads that share a core have had their slice, the pool's or others'.
  if (pool.threads > cores) return 1 / std::max(turns, slices * std::ceil(turns));
  double together = 1;
  if (pool.threads == cores && threads == 2 * cores) {
    // One other on each core: each of the pool's threads wakes up on a core of its own, and has half of it. One that
    // spun until the step began may be off its core then, and waits for its turn.
    const double off = 1 - cores / (threads - 1);
    together = std::min(std::pow(0.5, pool.threads), 1 / (off * slice));
  } else {
    for (int i = 0; i < pool.threads; ++i) together *= (cores - i) / (threads - i);
  }
  return std::max(together, 1 / (std::ceil(turns) + slices * std::ceil(turns - 1)));
}

double CoreSharing::RateOf(const PoolOfThreads& pool, double threads) const {
  if (processors_ == 0) return 1;
  // A pool that gets nothing now must still end.
  constexpr double kLeast = 1e-6;
  const double programs = std::max(1.0, std::round(others_.wanted));
  const double busy = std::min(1.0, Held(threads) / programs);
  double rate = 0, share = std::pow(1 - busy, programs);
  for (double k = 0; k <= programs; ++k) {
    if (busy == 1) share = k == programs ? 1 : 0;
    rate += share * RateOn(processors_ - k, pool, threads);
    share *= (programs - k) / (k + 1) * busy / (1 - busy);
  }
  return std::max(kLeast, rate) * Throttle(threads);
}

std::optional<double> CoreSharing::LeftToSleepers(double threads) const {
  const double left = processors_ - others_.wanted - threads;
  return processors_ > 0 && left >= 1 ? std::optional(left) : std::nullopt;
}

CoreSharing::Rates CoreSharing::BesideSleepers(const PoolOfThreads& pool, double threads,
                                               double left) const {
  const double used = std::min<double>(pool.threads, left);
  const double throttle = ThrottleOf(threads + used);
  const auto each = static_cast<double>(pool.each.count());
  const double in_turns = static_cast<double>(pool.on_one.count()) / used;
  const double rate = pool.threads <= left ? 1 : each / std::max(each, in_turns);
  return {throttle, throttle * rate, throttle * used};
}

}  // namespace pipesim::engine::virtual_time
