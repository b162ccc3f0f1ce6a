#include <algorithm>
#include <unordered_map>

#include "base/stats.h"
#include "measure/rates.h"
#include "measure/warnings.h"

namespace pipesim::measure {
namespace {

/// A slow step takes at least so many times a fast one, and so large a share of slow steps must
/// return on time. Noise on even steps stays far below both.
constexpr double kSlowFactor = 3;
constexpr double kReturning = 0.8;
constexpr double kShareTolerance = 0.25;
constexpr std::size_t kLeastCycles = 5;
constexpr double kStarvedShareOfExcess = 0.5;

struct Split {
  double slow_mean = 0, fast_mean = 0, slow_share = 0, excess_share = 0;
};

Split SplitAt(const std::vector<trace::Sampled>& steps, double limit) {
  std::vector<double> slow, fast;
  for (const trace::Sampled& step : steps) (step.value > limit ? slow : fast).push_back(step.value);
  Split split{.slow_mean = base::Mean(slow), .fast_mean = base::Mean(fast)};
  const double count = static_cast<double>(slow.size());
  const double total = split.slow_mean * count + split.fast_mean * static_cast<double>(fast.size());
  split.slow_share = count / static_cast<double>(steps.size());
  if (total > 0) split.excess_share = (split.slow_mean - split.fast_mean) * count / total;
  return split;
}

/// The share of slow steps that are followed by another slow one `period` steps later, among those
/// whose later step was kept. nullopt when there are too few.
std::optional<double> ReturningShare(const std::vector<trace::Sampled>& steps, double limit,
                                     int period) {
  std::unordered_map<std::int64_t, bool> slow;
  for (const trace::Sampled& step : steps) slow[step.key] = step.value > limit;
  std::size_t known = 0, returned = 0;
  for (const auto& [key, is_slow] : slow) {
    const auto later = slow.find(key + period);
    if (!is_slow || later == slow.end()) continue;
    ++known;
    returned += later->second;
  }
  if (known < kLeastCycles) return std::nullopt;
  return static_cast<double>(returned) / static_cast<double>(known);
}

}  // namespace

bool ComesInBursts(const trace::RunTrace& trace, const Window& window, int period,
                   double starved_fraction) {
  const std::vector<trace::Sampled> steps = ValuesIn(trace, trace::Series::kStepTime, window);
  if (period < 2 || steps.size() < kLeastCycles * static_cast<std::size_t>(period)) return false;
  std::vector<double> values;
  for (const trace::Sampled& step : steps) values.push_back(step.value);
  // With one slow step in two or more, the lower quartile is a fast step.
  const double limit = *base::Quantile(values, 0.25) * 2;
  const Split split = SplitAt(steps, limit);
  const double expected = 1.0 / period;
  if (split.slow_mean < kSlowFactor * split.fast_mean) return false;
  if (std::abs(split.slow_share - expected) > kShareTolerance * expected) return false;
  if (starved_fraction < kStarvedShareOfExcess * split.excess_share) return false;
  return ReturningShare(steps, limit, period).value_or(0) >= kReturning;
}

}  // namespace pipesim::measure
