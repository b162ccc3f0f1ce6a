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

/// What was loaded until a moment.
struct Loaded {
  base::Instant at;
  std::int64_t samples = 0;
};

/// Readings inside the window: the monitor's, which do not depend on deliveries, or, in a window
/// with few of those, one a step.
std::vector<Loaded> LoadedIn(const trace::RunTrace& trace, const Window& window) {
  constexpr std::size_t kEnough = 10;
  std::vector<Loaded> readings;
  const auto add = [&](base::Instant at, std::int64_t samples) {
    if (at >= window.from && at <= window.to) readings.push_back({at, samples});
  };
  for (const trace::ResourceSample& sample : trace.resources) add(sample.at, sample.loaded);
  if (readings.size() >= kEnough) return readings;
  readings.clear();
  for (const trace::Checkpoint& mark : Marks(trace)) add(mark.at, mark.loaded);
  return readings;
}

/// Rates of at most `most` groups of about equal time: what is loaded grows with time, not with
/// steps.
std::vector<double> LoadingRates(const trace::RunTrace& trace, const Window& window,
                                 std::int64_t most) {
  const base::Duration each = (window.to - window.from) / most;
  std::vector<double> rates;
  std::optional<Loaded> from;
  for (const Loaded& to : LoadedIn(trace, window)) {
    if (from && (to.at - from->at < each || to.at == from->at)) continue;
    if (from)
      rates.push_back(static_cast<double>(to.samples - from->samples) /
                      base::ToSeconds(to.at - from->at));
    from = to;
  }
  return rates;
}

/// Rates of at most `most` groups of whole periods; of single steps where not two periods fit.
std::vector<double> DeliveryRates(const trace::RunTrace& trace, const Window& window,
                                  std::int64_t period, std::int64_t most) {
  std::vector<trace::Checkpoint> borders = GroupBorders(trace, window, period, most);
  if (borders.size() < 3) borders = GroupBorders(trace, window, 1, most);
  std::vector<double> rates;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    const trace::Checkpoint &from = borders[i - 1], &to = borders[i];
    if (to.at > from.at)
      rates.push_back(static_cast<double>(to.samples - from.samples) /
                      base::ToSeconds(to.at - from.at));
  }
  return rates;
}

/// Whole cycles of all workers are exact, so deliveries are taken where there are enough of them.
std::vector<double> CycleRates(const trace::RunTrace& trace, const Window& window,
                               std::int64_t cycle, std::int64_t most) {
  const std::int64_t cycles = (window.last_step - window.first_step) / cycle;
  const bool few = cycles < static_cast<std::int64_t>(kLeastBatchesToCheck);
  if (window.by_loading && (few || window.counted != window.samples))
    return LoadingRates(trace, window, most);
  return DeliveryRates(trace, window, cycle, most);
}

/// Beyond two standard errors of a sequence without correlation (1 / sqrt n).
bool NeighboursCorrelated(const std::vector<double>& rates) {
  return base::Autocorrelation1(rates) > 2 / std::sqrt(static_cast<double>(rates.size()));
}

/// The rate of another accelerator over the first one's: the time that the first took for steps of the window
/// over the other's time for the same steps, which lie alike in bursts of the workers and in epochs. nullopt
/// where not two of the kept steps are of both.
std::optional<double> OverFirst(const std::vector<trace::Checkpoint>& first, const Window& window,
                                const trace::Progress& other) {
  const trace::Checkpoint *begin = nullptr, *end = nullptr;  // the first one's
  auto begin_of_other = other.kept.end(), end_of_other = other.kept.end();
  auto at = other.kept.begin();
  for (const trace::Checkpoint& mark : first) {
    if (mark.steps < window.first_step || mark.steps > window.last_step) continue;
    at = std::find_if(at, other.kept.end(), [&](const auto& kept) { return kept.steps >= mark.steps; });
    if (at == other.kept.end()) break;
    if (at->steps != mark.steps) continue;
    if (begin == nullptr) begin = &mark, begin_of_other = at;
    end = &mark, end_of_other = at;
  }
  if (begin == end || end_of_other->at <= begin_of_other->at) return std::nullopt;
  return base::ToSeconds(end->at - begin->at) / base::ToSeconds(end_of_other->at - begin_of_other->at);
}

/// Of groups that are at most as many as `rates_of` is told: fewer where neighbours are alike.
template <class RatesOf>  // (int64 most) -> vector<double>
std::optional<Interval> BatchMeans(const Window& window, const RatesOf& rates_of) {
  std::vector<double> rates = rates_of(kMostBatches);
  while (rates.size() >= kLeastBatchesToCheck && NeighboursCorrelated(rates))
    rates = rates_of(static_cast<std::int64_t>(rates.size()) / 2);
  const std::optional<double> half = base::HalfWidth(rates, kLevel);
  if (!half) return std::nullopt;
  const double rate = SamplesPerSecond(window);
  return Interval{.low = std::max(0.0, rate - *half),
                  .high = rate + *half,
                  .level = kLevel,
                  .method = fmt::format("batch means ({})", rates.size())};
}

}  // namespace

double SamplesPerSecond(const Window& window) {
  return static_cast<double>(window.counted) / base::ToSeconds(window.to - window.from);
}

double DeliveredPerSecond(const Window& window) {
  return static_cast<double>(window.samples) / base::ToSeconds(window.to - window.from);
}

std::optional<Interval> RateInterval(const trace::RunTrace& trace, const Window& window,
                                     const spec::Experiment& experiment) {
  const std::int64_t cycle = std::max(1, experiment.loader.workers);
  const std::int64_t period = PeriodSteps(experiment, window.last_step - window.first_step);
  const auto by_cycles = [&](std::int64_t most) { return CycleRates(trace, window, cycle, most); };
  const auto by_epochs = [&](std::int64_t most) { return DeliveryRates(trace, window, period, most); };
  if (period == cycle) return BatchMeans(window, by_cycles);
  const auto whole = BatchMeans(window, by_epochs);
  const std::int64_t epochs = (window.last_step - window.first_step) / period;
  if (epochs >= static_cast<std::int64_t>(kLeastBatchesToCheck)) return whole;
  // A few epochs say little of noise: their interval is taken where their borders make up most of what their parts vary
  // by, not wherever it is narrower by chance.
  constexpr double kMostlyBorders = 0.5;
  const auto parts = BatchMeans(window, by_cycles);
  const double rate = SamplesPerSecond(window);
  const bool mostly_borders = whole && (!parts || whole->high - rate < kMostlyBorders * (parts->high - rate));
  return mostly_borders ? whole : parts;
}

std::optional<double> RelativeHalfWidth(const Result& result) {
  const std::optional<Interval>& interval = result.samples_per_s_interval;
  const std::optional<double>& rate = result.samples_per_s;
  if (!interval || !rate || !(*rate > 0)) return std::nullopt;
  return (interval->high - interval->low) / 2 / *rate;
}

std::optional<std::int64_t> StepsForInterval(const Result& result, double share) {
  const std::optional<double> half = RelativeHalfWidth(result);
  if (!half || result.steps == 0) return std::nullopt;
  const double ratio = std::max(1.0, *half / share);
  const double steps = static_cast<double>(result.steps) * ratio * ratio +
                       static_cast<double>(result.warmup_steps);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(steps)) - 1));
  return static_cast<std::int64_t>(std::min(std::ceil(steps / unit) * unit, 1e15));
}

namespace {
template <class Visit>
void ForEachIn(const trace::RunTrace& trace, trace::Series series, const Window& window, const Visit& visit) {
  for (const trace::Sampled& sampled : trace.series[static_cast<std::size_t>(series)].kept)
    if (sampled.at > window.from && sampled.at <= window.to) visit(sampled);
}
}  // namespace

std::vector<trace::Sampled> ValuesIn(const trace::RunTrace& trace, trace::Series series,
                                     const Window& window) {
  std::vector<trace::Sampled> values;
  ForEachIn(trace, series, window, [&](const trace::Sampled& sampled) { values.push_back(sampled); });
  return values;
}

std::vector<double> NumbersIn(const trace::RunTrace& trace, trace::Series series,
                              const Window& window, double factor) {
  std::vector<double> numbers;
  numbers.reserve(trace.series[static_cast<std::size_t>(series)].kept.size());
  ForEachIn(trace, series, window, [&](const trace::Sampled& sampled) { numbers.push_back(sampled.value * factor); });
  return numbers;
}

StepTime StepTimes(const trace::RunTrace& trace, const Window& window) {
  const std::vector<double> seconds =
      NumbersIn(trace, trace::Series::kStepTime, window, kSecondsPerNs);
  // A quantile needs at least one value beyond it.
  const auto quantile = [&seconds](double q, std::size_t least) {
    return seconds.size() >= least ? base::Quantile(seconds, q) : std::nullopt;
  };
  const double steps = static_cast<double>(window.last_step - window.first_step) *
                       SamplesPerSecond(window) / DeliveredPerSecond(window);
  return {.mean_s = base::ToSeconds(window.to - window.from) / steps,
          .p50_s = quantile(0.50, 2),
          .p95_s = quantile(0.95, 20),
          .p99_s = quantile(0.99, 100)};
}

double AllOverFirst(const trace::RunTrace& trace, const Window& window) {
  if (trace.others.empty()) return 1;
  const std::vector<trace::Checkpoint> first = Marks(trace);
  double sum = 1;
  for (const trace::Progress& other : trace.others) sum += OverFirst(first, window, other).value_or(1);
  return sum;
}

double SamplesPerSecondOfAll(const trace::RunTrace& trace, const Window& window) {
  return SamplesPerSecond(window) * AllOverFirst(trace, window);
}

}  // namespace pipesim::measure
