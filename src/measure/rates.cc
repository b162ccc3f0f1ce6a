#include "measure/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/stats.h"
#include "measure/window.h"

namespace pipesim::measure {
namespace {

constexpr double kLevel = 0.95;
constexpr std::int64_t kMostBatches = 30;
/// With fewer, the correlation of neighbours may be chance.
constexpr std::size_t kLeastBatchesToCheck = 10;
constexpr double kSecondsPerNs = 1e-9;

double Rate(const trace::Checkpoint& from, const trace::Checkpoint& to) {
  return static_cast<double>(to.samples - from.samples) / base::ToSeconds(to.at - from.at);
}

std::vector<double> BatchRates(const trace::RunTrace& trace, const Window& window,
                               std::int64_t period, std::int64_t most) {
  const std::vector<trace::Checkpoint> borders = GroupBorders(trace, window, period, most);
  std::vector<double> rates;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    if (borders[i].at > borders[i - 1].at) rates.push_back(Rate(borders[i - 1], borders[i]));
  }
  return rates;
}

/// Beyond two standard errors of a sequence without correlation (1 / sqrt n).
bool NeighboursCorrelated(const std::vector<double>& rates) {
  return base::Autocorrelation1(rates) > 2 / std::sqrt(static_cast<double>(rates.size()));
}

}  // namespace

double SamplesPerSecond(const Window& window) {
  return static_cast<double>(window.samples) / base::ToSeconds(window.to - window.from);
}

std::optional<Interval> RateInterval(const trace::RunTrace& trace, const Window& window,
                                     const spec::Experiment& experiment) {
  const std::int64_t period = PeriodSteps(experiment, window.last_step - window.first_step);
  std::vector<double> rates = BatchRates(trace, window, period, kMostBatches);
  while (rates.size() >= kLeastBatchesToCheck && NeighboursCorrelated(rates)) {
    rates = BatchRates(trace, window, period, static_cast<std::int64_t>(rates.size()) / 2);
  }
  const std::optional<double> half = base::HalfWidth(rates, kLevel);
  if (!half) return std::nullopt;
  const double rate = SamplesPerSecond(window);
  return Interval{.low = std::max(0.0, rate - *half),
                  .high = rate + *half,
                  .level = kLevel,
                  .method = fmt::format("batch means ({})", rates.size())};
}

std::vector<trace::Sampled> ValuesIn(const trace::RunTrace& trace, trace::Series series,
                                     const Window& window) {
  std::vector<trace::Sampled> values;
  for (const trace::Sampled& sampled : trace.series[static_cast<std::size_t>(series)].kept) {
    if (sampled.at > window.from && sampled.at <= window.to) values.push_back(sampled);
  }
  return values;
}

std::vector<double> NumbersIn(const trace::RunTrace& trace, trace::Series series,
                              const Window& window, double factor) {
  std::vector<double> numbers;
  for (const trace::Sampled& sampled : ValuesIn(trace, series, window)) {
    numbers.push_back(sampled.value * factor);
  }
  return numbers;
}

StepTime StepTimes(const trace::RunTrace& trace, const Window& window) {
  const std::vector<double> seconds =
      NumbersIn(trace, trace::Series::kStepTime, window, kSecondsPerNs);
  // A quantile needs at least one value beyond it.
  const auto quantile = [&seconds](double q, std::size_t least) {
    return seconds.size() >= least ? base::Quantile(seconds, q) : std::nullopt;
  };
  return {.mean_s = base::ToSeconds(window.to - window.from) /
                    static_cast<double>(window.last_step - window.first_step),
          .p50_s = quantile(0.50, 2),
          .p95_s = quantile(0.95, 20),
          .p99_s = quantile(0.99, 100)};
}

}  // namespace pipesim::measure
