#include "advise/candidates.h"

#include <algorithm>

namespace pipesim::advise {
namespace {

// Rates this near are equal: the smaller configuration is taken.
constexpr double kEqual = 0.005;
// Rounds of the coordinate search; the second mostly confirms the first.
constexpr int kMostRounds = 3;

/// Keeps the first of nearly equal configurations.
class Leader {
 public:
  Leader(const Score& score, std::optional<Scored> best) : score_(score), best_(best) {}
  /// False: it cannot run.
  bool Try(const Configuration& configuration) {
    const auto rate = score_(configuration);
    if (!rate) return false;
    if (!best_ || *rate > best_->samples_per_s * (1 + kEqual)) best_ = {configuration, *rate};
    return true;
  }
  const std::optional<Scored>& best() const { return best_; }

 private:
  const Score& score_;
  std::optional<Scored> best_;
};

int MostWorkersFrom(const Configuration& start, const TuneSpace& space) {
  constexpr int kAtLeast = 4;
  return std::max({space.cores, 4 * start.workers, kAtLeast, space.fewest_workers, space.most_workers});
}

std::vector<int> ThreadsOf(const Configuration& start, const TuneSpace& space) {
  return space.compute_threads.empty() ? std::vector<int>{start.compute_threads}
                                       : space.compute_threads;
}

/// The counts around `workers` that the ladder leaves out; no more than four.
std::vector<int> Between(const std::vector<int>& ladder, int workers) {
  const auto at = std::find(ladder.begin(), ladder.end(), workers);
  std::vector<int> counts;
  if (at == ladder.end()) return counts;
  const int low = at == ladder.begin() ? workers : *std::prev(at);
  const int high = std::next(at) == ladder.end() ? workers : *std::next(at);
  for (const auto& [from, to] : {std::pair(low, workers), std::pair(workers, high)}) {
    const int third = std::max(1, (to - from) / 3);
    for (int count = from + third; count < to && count <= from + 2 * third; count += third)
      counts.push_back(count);
  }
  return counts;
}

void TryWorkersAndThreads(const Configuration& from, const TuneSpace& space, int most,
                          Leader& leader) {
  const std::vector<int> ladder = CountLadder(space.fewest_workers, most);
  const auto try_all = [&](bool persistent) {
    for (const int threads : ThreadsOf(from, space)) {
      for (const int workers : ladder) {
        Configuration configuration = from;
        configuration.workers = workers;
        configuration.compute_threads = threads;
        configuration.persistent_workers = persistent;
        // Where memory is short, more workers may fit with less prefetch.
        while (!leader.Try(configuration) && workers > 0 && configuration.prefetch_factor > 1)
          configuration.prefetch_factor /= 2;
      }
    }
  };
  try_all(from.persistent_workers);
  // Where starting workers costs what more of them gain, neither change may gain alone.
  if (space.persistent_workers && !from.persistent_workers) try_all(true);
  if (!leader.best()) return;
  const Configuration best = leader.best()->configuration;
  for (const int workers : Between(ladder, best.workers)) {
    Configuration configuration = best;
    configuration.workers = workers;
    leader.Try(configuration);
  }
}

void TryWindows(const Configuration& from, const TuneSpace& space, Leader& leader) {
  if (from.workers == 0) return;
  for (const auto dispatch : {spec::Dispatch::kRoundRobin, spec::Dispatch::kShared}) {
    if (dispatch == spec::Dispatch::kShared && !space.shared_dispatch) continue;
    for (const int prefetch : {1, 2, 4, 8}) {
      if (prefetch < space.fewest_prefetch) continue;
      Configuration configuration = from;
      configuration.dispatch = dispatch;
      configuration.prefetch_factor = prefetch;
      leader.Try(configuration);
    }
  }
}

void TryBatches(const Configuration& from, std::int64_t base, Leader& leader) {
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    Configuration configuration = from;
    configuration.batch_size =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(base) * factor));
    leader.Try(configuration);
  }
}

}  // namespace

std::vector<int> CountLadder(int fewest, int most) {
  constexpr int kEach = 8;
  std::vector<int> counts;
  for (int count = fewest; count < most; count += count < kEach ? 1 : count / 2)
    counts.push_back(count);
  counts.push_back(std::max(fewest, most));
  return counts;
}

std::optional<Scored> Fastest(const Configuration& start, const TuneSpace& space,
                              const Score& score) {
  const int most = MostWorkersFrom(start, space);
  std::optional<Scored> best;
  if (const auto rate = score(start)) best = {start, *rate};
  for (int round = 0; round < kMostRounds; ++round) {
    const std::optional<Scored> before = best;
    const auto from = [&] { return best ? best->configuration : start; };
    Leader workers(score, best);
    TryWorkersAndThreads(from(), space, most, workers);
    best = workers.best();
    Leader windows(score, best);
    TryWindows(from(), space, windows);
    best = windows.best();
    if (space.batch) {
      Leader batches(score, best);
      TryBatches(from(), start.batch_size, batches);
      best = batches.best();
    }
    if (!best || (before && best->configuration == before->configuration)) break;
  }
  return best;
}

Configuration Smallest(const Configuration& from, const TuneSpace& space, double samples_per_s,
                       const Score& score) {
  const auto suffices = [&](const Configuration& configuration) {
    return score(configuration).value_or(0) >= samples_per_s;
  };
  Configuration small = from;
  // Upwards: a larger count may be scored lower, by contention or by a correction.
  int without = space.fewest_workers - 1;
  for (const int workers : CountLadder(space.fewest_workers, from.workers)) {
    small.workers = workers;
    if (workers == from.workers || suffices(small)) break;
    without = workers;
  }
  while (small.workers - without > 1) {
    Configuration fewer = small;
    fewer.workers = without + (small.workers - without) / 2;
    if (suffices(fewer))
      small = fewer;
    else
      without = fewer.workers;
  }
  for (const int threads : space.compute_threads) {
    Configuration fewer = small;
    fewer.compute_threads = threads;
    if (threads >= small.compute_threads || !suffices(fewer)) continue;
    small = fewer;
    break;
  }
  for (int prefetch = space.fewest_prefetch; prefetch < small.prefetch_factor && small.workers > 0;
       prefetch *= 2) {
    Configuration shallower = small;
    shallower.prefetch_factor = prefetch;
    if (!suffices(shallower)) continue;
    small = shallower;
    break;
  }
  if (Configuration started = small; space.persistent_workers) {
    started.persistent_workers = false;
    if (suffices(started)) small = started;
  }
  return small;
}

}  // namespace pipesim::advise
