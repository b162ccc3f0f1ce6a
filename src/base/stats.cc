#include "base/stats.h"

#include <algorithm>
#include <boost/math/statistics/linear_regression.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/portable_math.h"

namespace pipesim::base {

double Mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Stdev(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> Quantile(std::vector<double> values, double q) {
  if (values.empty()) return std::nullopt;
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto lower = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(lower);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (lower + 1 == values.size()) return low;
  const double high = *std::min_element(at + 1, values.end());
  return low + (high - low) * (place - static_cast<double>(lower));
}

Line LineThrough(const std::vector<double>& x, const std::vector<double>& y) {
  const auto [at_0, slope] = boost::math::statistics::simple_ordinary_least_squares(x, y);
  return {at_0, slope};
}

double StudentT(double level, std::size_t degrees) {
  const double p = 1 - level;  // both tails
  const auto n = static_cast<double>(degrees);
  if (degrees == 1) return 1 / std::tan(p * std::numbers::pi / 2);
  if (degrees == 2) return std::sqrt(2 / (p * (2 - p)) - 2);
  const double a = 1 / (n - 0.5);
  const double b = 48 / (a * a);
  double c = ((20700 * a / b - 98) * a - 16) * a + 96.36;
  const double d = ((94.5 / (b + c) - 3) / b + 1) * std::sqrt(a * std::numbers::pi / 2) * n;
  double y = std::pow(d * p, 2 / n);
  if (y > 0.05 + a) {
    const double x = NormalQuantile(p / 2);
    y = x * x;
    if (degrees < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = std::expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) *
            (n + 1) / (n + 2) +
        1 / y;
  }
  return std::sqrt(n * y);
}

std::optional<double> HalfWidth(std::span<const double> values, double level) {
  if (values.size() < 2) return std::nullopt;
  return StudentT(level, values.size() - 1) * Stdev(values) /
         std::sqrt(static_cast<double>(values.size()));
}

std::optional<MedianInterval> IntervalOfMedian(std::vector<double> values) {
  const std::size_t n = values.size();
  // Below the k-th smallest value lies the median with the probability of less than k heads in n
  // throws; the largest k for which that is at most 2.5 %.
  double probability = std::pow(0.5, static_cast<double>(n)), below = 0;
  std::size_t k = 0;
  while (k < n && below + probability <= 0.025) {
    below += probability;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return MedianInterval{values[k - 1], values[n - k]};
}

std::size_t Mser5(std::span<const double> values) {
  constexpr std::size_t kGroup = 5;
  const std::size_t count = values.size() / kGroup;
  std::size_t best = 0;
  double best_score = 0;
  // From the end towards the front: each step adds one batch mean to the kept ones. Welford's
  // update makes a long constant tail score exactly 0.
  double mean = 0, squares = 0, kept = 0;
  for (std::size_t first = count; first-- > 0;) {
    const double value = Mean(values.subspan(first * kGroup, kGroup));
    kept += 1;
    const double from_mean = value - mean;
    mean += from_mean / kept;
    squares += from_mean * (value - mean);
    if (first > count / 2) continue;
    const double score = squares / (kept * kept);
    // Ties keep more data: the loop starts with the largest cut.
    if (first == count / 2 || score <= best_score) {
      best = first;
      best_score = score;
    }
  }
  return best * kGroup;
}

double Autocorrelation1(std::span<const double> values) {
  if (values.size() < 3) return 0;
  const double mean = Mean(values);
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
  }
  return squares > 0 ? products / squares : 0;
}

}  // namespace pipesim::base
