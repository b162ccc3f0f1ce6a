#include "diagnose/enough.h"

#include <algorithm>
#include <cmath>

#include "diagnose/settings.h"

namespace pipesim::diagnose {
namespace {

Variant WithWorkers(const Variant& now, int workers) { return Workers(now, workers).change(now); }

/// Ascending, `most` included.
std::vector<int> CountsToTry(int fewest, int most) {
  constexpr int kEach = 16;
  std::vector<int> counts;
  for (int count = fewest; count < most;
       count += count - fewest < kEach ? 1 : std::max(1, count / 8)) {
    counts.push_back(count);
  }
  counts.push_back(most);
  return counts;
}

}  // namespace

std::optional<WorkerCount> FewestWorkers(const Variant& now, int fewest, int most,
                                         const Predictor& predict, double share) {
  struct Attempt {
    int workers = 0;
    double bound = 0, rate = 0;
  };
  std::vector<Attempt> attempts;
  double best_bound = 0;
  for (const int workers : CountsToTry(fewest, std::max(fewest, most))) {
    const double bound = PredictByBounds(WithWorkers(now, workers));
    if (!std::isfinite(bound)) return std::nullopt;
    best_bound = std::max(best_bound, bound);
    attempts.push_back({workers, bound, 0});
  }
  double best = 0;
  for (Attempt& attempt : attempts) {
    if (attempt.bound < share * best_bound && &attempt != &attempts.back()) continue;
    attempt.rate = predict(WithWorkers(now, attempt.workers));
    best = std::max(best, attempt.rate);
    // More workers cannot be better by more than 1 - share.
    if (attempt.rate >= share * best_bound) break;
  }
  if (!(best > 0)) return std::nullopt;
  // Contention can keep every predicted rate below its bound; then a skipped count may be enough.
  for (Attempt& attempt : attempts) {
    if (attempt.rate == 0 && attempt.bound >= share * best)
      attempt.rate = predict(WithWorkers(now, attempt.workers));
    if (attempt.rate >= share * best) {
      int below = &attempt == &attempts.front() ? attempt.workers - 1 : (&attempt - 1)->workers;
      WorkerCount found{attempt.workers, attempt.rate, 0};
      while (found.workers - below > 1) {
        const int middle = (below + found.workers) / 2;
        const double rate = predict(WithWorkers(now, middle));
        if (rate >= share * best)
          found = {middle, rate, 0};
        else
          below = middle;
      }
      found.share_of_best = found.samples_per_s / std::max(best, found.samples_per_s);
      return found;
    }
  }
  return std::nullopt;
}

std::optional<EnoughWorkers> FindEnoughWorkers(const Question& q) {
  const auto found =
      FewestWorkers(q.now, 0, MostWorkers(q.now), q.predict, q.thresholds.enough_share);
  if (!found) return std::nullopt;
  EnoughWorkers enough;
  enough.workers = found->workers;
  enough.share_of_best = found->share_of_best;
  enough.prefetch_factor = q.experiment.loader.prefetch_factor;
  enough.bytes_per_worker = enough.prefetch_factor * q.experiment.loader.batch_size *
                            spec::PreparedBytes(q.experiment.dataset).count;
  return enough;
}

}  // namespace pipesim::diagnose
