#include "sweep/analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "diagnose/diagnosis.h"

namespace pipesim::sweep {
namespace {

using Results = std::vector<PointResult>;

double RateOf(const PointResult& result) {
  return result.main().ok() ? *result.main().samples_per_s : 0;
}

std::optional<std::size_t> FindBest(const Results& results) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].main().ok() && (!best || RateOf(results[i]) > RateOf(results[*best]))) best = i;
  return best;
}

/// `a` is at least as good as `b` in rate, workers and memory, and better in one of them.
bool Dominates(const PointResult& a, const PointResult& b) {
  const Outcome &one = a.main(), &other = b.main();
  if (one.workers > other.workers || one.queued_bytes > other.queued_bytes) return false;
  if (RateOf(a) > RateOf(b) * (1 + kEqualRates)) return true;
  const bool smaller = one.workers < other.workers || one.queued_bytes < other.queued_bytes;
  return smaller && RateOf(a) >= RateOf(b) * (1 - kEqualRates);
}

/// Smallest first, so that only marked points decide on later ones: a chain of points, each 1.9 %
/// slower than the next, must not leave the fastest without a mark near it.
std::vector<bool> ParetoOf(const Results& results) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].main().ok()) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Outcome &one = results[a].main(), &other = results[b].main();
    return std::tuple(one.workers, one.queued_bytes, -*one.samples_per_s, a) <
           std::tuple(other.workers, other.queued_bytes, -*other.samples_per_s, b);
  });
  std::vector<std::size_t> kept;
  for (const std::size_t i : order) {
    const bool dominated = std::any_of(kept.begin(), kept.end(), [&](std::size_t other) {
      return Dominates(results[other], results[i]);
    });
    if (!dominated) kept.push_back(i);
  }
  std::vector<bool> marks(results.size());
  for (const std::size_t i : kept) marks[i] = true;
  return marks;
}

/// Changes only how far loading runs ahead, not what is trained or on what.
bool IsLoaderAxis(const spec::SweepAxis& axis) {
  return std::all_of(axis.keys.begin(), axis.keys.end(), [](const std::string& key) {
    return key == "loader.workers" || key == "loader.prefetch_factor";
  });
}

bool DiffersInLoaderOnly(const spec::Sweep& sweep, std::size_t a, std::size_t b) {
  const auto one = sweep.PositionOf(a), other = sweep.PositionOf(b);
  for (std::size_t i = 0; i < sweep.axes.size(); ++i)
    if (one[i] != other[i] && !IsLoaderAxis(sweep.axes[i])) return false;
  return true;
}

std::pair<std::int64_t, std::int64_t> SizeOf(const Outcome& outcome) {
  return {outcome.queued_bytes, outcome.workers};
}

/// The smallest point beside the best one.
Enough EnoughPoint(const spec::Sweep& sweep, const Results& results, std::size_t best) {
  const double enough_share = diagnose::Thresholds{}.enough_share;
  std::size_t smallest = best;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].main().ok() || RateOf(results[i]) < enough_share * RateOf(results[best]) ||
        !DiffersInLoaderOnly(sweep, results[i].point, results[best].point))
      continue;
    if (SizeOf(results[i].main()) < SizeOf(results[smallest].main())) smallest = i;
  }
  return {.point = smallest,
          .workers = results[smallest].main().workers,
          .share = RateOf(results[smallest]) / RateOf(results[best])};
}

/// The diagnosis of the best point may know a smaller setting between the points. What points of as many workers reach
/// is known better.
Enough FindEnough(const spec::Sweep& sweep, const Results& results, std::size_t best) {
  const Enough point = EnoughPoint(sweep, results, best);
  const Outcome& top = results[best].main();
  const bool is_known = std::ranges::any_of(results, [&](const PointResult& result) {
    return result.main().ok() && result.main().workers == top.enough_workers &&
           DiffersInLoaderOnly(sweep, result.point, results[best].point);
  });
  if (top.enough_share && top.enough_workers > 0 && top.enough_workers < point.workers && !is_known)
    return {.point = std::nullopt,
            .workers = top.enough_workers,
            .prefetch_factor = top.enough_prefetch_factor,
            .share = *top.enough_share};
  return point;
}

std::vector<AxisStep> StepsAtBest(const spec::Sweep& sweep, const Results& results,
                                  std::size_t best) {
  std::map<std::size_t, double> rates;
  for (const PointResult& result : results)
    if (result.main().ok()) rates[result.point] = RateOf(result);
  std::vector<AxisStep> steps;
  for (std::size_t axis = 0; axis < sweep.axes.size(); ++axis) {
    std::vector<std::size_t> position = sweep.PositionOf(results[best].point);
    for (std::size_t from = 0; from + 1 < sweep.axes[axis].values.size(); ++from) {
      position[axis] = from;
      const auto before = rates.find(sweep.PointAt(position));
      position[axis] = from + 1;
      const auto after = rates.find(sweep.PointAt(position));
      if (before != rates.end() && after != rates.end())
        steps.push_back({axis, from, after->second / before->second - 1});
    }
  }
  return steps;
}

std::optional<PredictionError> ErrorOf(const Results& results) {
  PredictionError error;
  for (const PointResult& result : results) {
    const auto each = PredictionErrorOf(result);
    if (!each) continue;
    ++error.compared;
    error.mean += std::abs(*each);
    error.worst = std::max(error.worst, std::abs(*each));
    if (result.run->bottleneck == result.predicted->bottleneck) ++error.verdicts_agree;
  }
  if (error.compared == 0) return std::nullopt;
  error.mean /= static_cast<double>(error.compared);
  return error;
}

}  // namespace

std::optional<double> PredictionErrorOf(const PointResult& result) {
  if (!result.run || !result.predicted || !result.run->ok() || !result.predicted->ok())
    return std::nullopt;
  return *result.predicted->samples_per_s / *result.run->samples_per_s - 1;
}

Analysis Analyse(const spec::Sweep& sweep, const std::vector<PointResult>& results) {
  Analysis analysis;
  analysis.best = FindBest(results);
  analysis.pareto = ParetoOf(results);
  analysis.error = ErrorOf(results);
  if (!analysis.best) return analysis;
  analysis.enough = FindEnough(sweep, results, *analysis.best);
  analysis.steps = StepsAtBest(sweep, results, *analysis.best);
  return analysis;
}

}  // namespace pipesim::sweep
