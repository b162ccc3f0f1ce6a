#include "diagnose/enough.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "diagnose/settings.h"

namespace pipesim::diagnose {
namespace {

Variant WithWorkers(const Variant& now, int workers) { return Workers(now, workers).change(now); }

/// `share` of a best rate: where costs are drawn, the best of many is so by chance, too.
double BeyondNoise(double share, const Variant& now) {
  return cost::DrawnCosts(now.pipeline) > 0 ? share - kDrawnNoise : share;
}

/// One search among counts of workers, the preferred ones first.
class WorkerSearch {
 public:
  WorkerSearch(const Variant& now, const Predictor& predict, double share)
      : now_(now), predict_(predict), share_(BeyondNoise(share, now)) {}

  /// The first of `counts` that reaches the share of the best one; its place is kept. nullopt: nothing limits, or
  /// nothing runs.
  std::optional<WorkerCount> First(const std::vector<int>& counts) {
    if (!FindBounds(counts)) return std::nullopt;
    std::optional<std::size_t> best = FirstOf(share_ * best_bound_, attempts_.size());
    if (!best) best = Peak();
    best_ = RateOf(attempts_[*best]);
    if (!(best_ > 0)) return std::nullopt;
    place_ = FirstOf(share_ * best_, *best + 1).value_or(*best);
    return Found(attempts_[place_].workers, RateOf(attempts_[place_]));
  }

  /// Of counts that ascend one by one or by more: `found`, or the smallest between it and the count before it that
  /// is enough, by bisection.
  WorkerCount Smallest(WorkerCount found) const {
    int below = place_ == 0 ? found.workers - 1 : attempts_[place_ - 1].workers;
    while (found.workers - below > 1) {
      const int middle = (below + found.workers) / 2;
      const double rate = RateOf(middle);
      if (rate >= share_ * best_)
        found = Found(middle, rate);
      else
        below = middle;
    }
    return found;
  }

 private:
  struct Attempt {
    int workers = 0;
    double bound = 0;
    std::optional<double> rate = {};  ///< nullopt: not asked yet
  };

  double RateOf(int workers) const { return predict_(WithWorkers(now_, workers)); }
  double RateOf(Attempt& attempt) const {
    if (!attempt.rate) attempt.rate = RateOf(attempt.workers);
    return *attempt.rate;
  }
  WorkerCount Found(int workers, double rate) const { return {workers, rate, rate / std::max(best_, rate)}; }

  /// False where nothing limits.
  bool FindBounds(const std::vector<int>& counts) {
    for (const int workers : counts) {
      const double bound = PredictByBounds(WithWorkers(now_, workers));
      if (!std::isfinite(bound)) return false;
      best_bound_ = std::max(best_bound_, bound);
      attempts_.push_back({workers, bound});
    }
    return !attempts_.empty();
  }

  /// The first of the attempts before `end` that reaches `wanted`, to which rates are taken to grow: by steps that
  /// double, then by bisection. nullopt: none that was asked.
  std::optional<std::size_t> FirstOf(double wanted, std::size_t end) {
    std::vector<std::size_t> possible;
    for (std::size_t i = 0; i < end; ++i)
      if (attempts_[i].bound >= wanted) possible.push_back(i);
    const auto falls_short = [&](std::size_t attempt) { return RateOf(attempts_[attempt]) < wanted; };
    std::size_t below = 0, found = 0;  // all before `below` do
    for (std::size_t step = 1; found < possible.size() && falls_short(possible[found]); step *= 2) {
      below = found + 1;
      found = below == possible.size() ? below : std::min(found + step, possible.size() - 1);
    }
    if (found >= possible.size()) return std::nullopt;
    return *std::partition_point(possible.begin() + below, possible.begin() + found, falls_short);
  }

  /// Starting many workers, and their contention, can make fewer of them faster than their bounds tell. Rates are
  /// taken to grow to one peak and to fall from there, but for the ends: none at all hand nothing over.
  std::size_t Peak() {
    std::size_t best = 0;
    for (std::size_t i = 0; i < attempts_.size(); ++i)
      if (attempts_[i].rate > attempts_[best].rate) best = i;
    const auto ask = [&](std::size_t i) {
      if (RateOf(attempts_[i]) > RateOf(attempts_[best])) best = i;
    };
    for (const std::size_t end : {std::size_t{0}, attempts_.size() - 1})
      if (attempts_[end].bound > RateOf(attempts_[best])) ask(end);
    while (const auto next = BesidePeak(best)) ask(*next);
    return best;
  }

  /// The middle of the attempts next to `best` that are not asked yet and whose bounds are higher: on the side where
  /// they are more. nullopt: none are left.
  std::optional<std::size_t> BesidePeak(std::size_t best) const {
    const auto is_open = [&](std::size_t i) { return attempts_[i].bound > *attempts_[best].rate; };
    std::vector<std::size_t> below, above;
    for (std::size_t i = best; i-- > 0 && !attempts_[i].rate;)
      if (is_open(i)) below.push_back(i);
    for (std::size_t i = best + 1; i < attempts_.size() && !attempts_[i].rate; ++i)
      if (is_open(i)) above.push_back(i);
    const std::vector<std::size_t>& more = below.size() > above.size() ? below : above;
    if (more.empty()) return std::nullopt;
    return more[more.size() / 2];
  }

  const Variant& now_;
  const Predictor& predict_;
  double share_;
  std::vector<Attempt> attempts_;
  double best_ = 0, best_bound_ = 0;
  std::size_t place_ = 0;
};

/// PyTorch's own factor and twice it. With 1 a worker idles from the end of its batch until training
/// takes it, so that is no saving to offer to those who do not have it.
std::set<int> FactorsToTry(int now) { return {now, 2, 4}; }

std::int64_t Batches(int workers, const Variant& variant) {
  return std::int64_t{variant.settings.loader.prefetch_factor} * workers;
}

EnoughWorkers EnoughOf(const Question& q, int factor, const WorkerCount& count, double best) {
  EnoughWorkers enough;
  enough.workers = count.workers;
  enough.prefetch_factor = factor;
  enough.share_of_best = count.samples_per_s / best;
  enough.bytes_per_worker =
      factor * q.experiment.loader.batch_size * spec::PreparedBytes(q.experiment.dataset).count;
  return enough;
}

std::optional<EnoughWorkers> EnoughUpTo(const Question& q, int most) {
  const double share = TrainsOnAllCores(q.now) ? q.thresholds.enough_share_beside_training
                                               : q.thresholds.enough_share;
  const double near = BeyondNoise(share, q.now);
  struct Found {
    Variant variant;
    WorkerCount count;
    double best = 0;
  };
  std::vector<Found> found;
  double best = 0;
  for (const int factor : FactorsToTry(q.now.settings.loader.prefetch_factor)) {
    Variant variant = q.now;
    variant.settings.loader.prefetch_factor = factor;
    const auto count = FewestWorkers(variant, 0, most, q.predict, share);
    if (!count) return std::nullopt;
    const double its_best = count->samples_per_s / count->share_of_best;
    best = std::max(best, its_best);
    found.push_back({std::move(variant), *count, its_best});
  }
  std::erase_if(found, [&](const Found& one) { return one.best < near * best; });
  // A factor whose own best is lower must come nearer to it.
  for (Found& one : found) {
    if (one.count.samples_per_s < near * best)
      one.count = FewestWorkers(one.variant, one.count.workers, most, q.predict,
                                share * best / one.best)
                      .value_or(one.count);
  }
  const auto least = std::min_element(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return Batches(a.count.workers, a.variant) < Batches(b.count.workers, b.variant);
  });
  EnoughWorkers enough =
      EnoughOf(q, least->variant.settings.loader.prefetch_factor, least->count, best);
  // The best of those that were looked at may be no more than the last ones.
  enough.more_may_gain = 2 * enough.workers > most && !OnlyTakeCores(q.now) &&
                         near * q.predict(WithWorkers(least->variant, 2 * most)) > best;
  return enough;
}

}  // namespace

std::vector<int> CountsToTry(int fewest, int most) {
  constexpr int kEach = 16;
  std::vector<int> counts;
  for (int count = fewest; count < most;
       count += count < kEach ? 1 : count / 8) {
    counts.push_back(count);
  }
  counts.push_back(most);
  return counts;
}

std::optional<WorkerCount> FewestWorkers(const Variant& now, int fewest, int most,
                                         const Predictor& predict, double share) {
  WorkerSearch search(now, predict, share);
  const auto found = search.First(CountsToTry(fewest, std::max(fewest, most)));
  return found ? std::optional(search.Smallest(*found)) : std::nullopt;
}

std::optional<WorkerCount> FirstNearBest(const Variant& now, const std::vector<int>& counts, const Predictor& predict,
                                         double share) {
  return WorkerSearch(now, predict, share).First(counts);
}

EnoughWorkers EnoughAsItIs(const Question& q) {
  const spec::Loader& loader = q.now.settings.loader;
  return EnoughOf(q, loader.prefetch_factor, {.workers = loader.workers, .samples_per_s = 1}, 1);
}

std::optional<EnoughWorkers> FindEnoughWorkers(const Question& q) {
  int most = MostWorkers(q.now);
  auto enough = EnoughUpTo(q, most);
  while (enough && enough->more_may_gain && 2 * most <= MostThatFit(q.now)) {
    most *= 2;
    enough = EnoughUpTo(q, most);
  }
  return enough;
}

}  // namespace pipesim::diagnose
