#include "measure/probes.h"

#include <fmt/format.h>

#include <cmath>

#include "base/stats.h"
#include "measure/measurement.h"
#include "measure/paired_gain.h"
#include "measure/rates.h"

namespace pipesim::measure {
namespace {

constexpr double kBaseLevel = 0.95;
/// Pairs cancel drift, so they are preferred up to this half-width: what a promise may be off by.
constexpr double kWide = 0.10;

struct BlockSum {
  base::Duration time{};
  std::int64_t samples = 0;

  void Add(const trace::ProbeBlock& block) {
    time += block.time;
    samples += block.samples;
  }
  double PerSecond() const { return static_cast<double>(samples) / base::ToSeconds(time); }
};

/// What blocks of `time` in all may be off the measured window, by how much the window's own rate varies: a mean's
/// half-width goes with one over the root of its time. A pool that spins on shared cores has states that last longer
/// than a block, which all blocks of a probe share. Of logarithms; 0: unknown.
double HalfWidthOf(base::Duration time, const Result& result) {
  const auto window_half = RelativeHalfWidth(result);
  if (!window_half || !(result.measured_s > 0)) return 0;
  return std::log1p(*window_half) * std::sqrt(result.measured_s / base::ToSeconds(time));
}

/// Around `gain`, of blocks that show less than all that the run's rate varies by.
Interval Widened(Interval interval, double gain, double by) {
  const double mean = std::log1p(gain), half = std::hypot(std::log1p(interval.high) - mean, by);
  interval.low = std::expm1(mean - half);
  interval.high = std::expm1(mean + half);
  return interval;
}

/// The blocks with the change against the whole measured window, which knows a run of uneven steps
/// better than a few blocks beside the change do. Independent, so their half-widths add in squares.
std::optional<PairedGain> GainOverWindow(double changed_per_s, const std::vector<double>& logs,
                                         const Result& result) {
  const auto window_half = RelativeHalfWidth(result);
  const auto half = base::HalfWidth(logs, kBaseLevel);
  if (!window_half || !half) return std::nullopt;
  const double log_gain = std::log(changed_per_s / *result.samples_per_s);
  const double both = std::hypot(*half, std::log1p(*window_half));
  return PairedGain{.gain = std::expm1(log_gain),
                    .interval = Interval{.low = std::expm1(log_gain - both),
                                         .high = std::expm1(log_gain + both),
                                         .level = kBaseLevel,
                                         .method = fmt::format("probes ({}) over the measured window",
                                                               logs.size())}};
}

/// The blocks as it was ran at another rate than the window, by more than they scatter and `varies`: the machine has
/// changed since, and only pairs are free of that.
bool HasChanged(const std::vector<double>& base_logs, double varies, const Result& result) {
  const double drift = std::abs(base::Mean(base_logs) - std::log(*result.samples_per_s));
  const double scatter = base::HalfWidth(base_logs, kBaseLevel).value_or(0);
  return drift > std::hypot(scatter, varies) + std::log1p(RelativeHalfWidth(result).value_or(0));
}

double BlockRate(const trace::ProbeBlock& block) {
  return static_cast<double>(block.samples) / base::ToSeconds(block.time);
}

}  // namespace

std::vector<Tried> TriedIn(const trace::Probes& probes, const Result& result) {
  std::vector<Tried> all;
  for (const trace::Probe& probe : probes.each) {
    BlockSum as_it_was, changed;
    std::vector<RatePair> rates;
    std::vector<double> base_logs, changed_logs;
    for (const trace::ProbePair& pair : probe.pairs) {
      as_it_was.Add(pair.base);
      changed.Add(pair.changed);
      rates.push_back({BlockRate(pair.base), BlockRate(pair.changed)});
      base_logs.push_back(std::log(rates.back().base));
      changed_logs.push_back(std::log(rates.back().changed));
    }
    auto gain = GainOf(rates, "probes");
    if (!gain || !gain->interval) continue;
    // Of a setting the rate is promised. Of what is free only the side that gains is asked, of these blocks.
    const double varies = probe.kind == trace::ProbeKind::kSetting ? HalfWidthOf(as_it_was.time, result) : 0;
    gain->interval = Widened(*gain->interval, gain->gain, varies);
    const auto over_window = GainOverWindow(changed.PerSecond(), changed_logs, result);
    if (over_window && HasChanged(base_logs, varies, result)) {
      // Whether what slowed the blocks beside the change would have slowed it, too, is not known.
      if (probe.kind == trace::ProbeKind::kSetting)
        gain->interval->low = std::min(gain->interval->low, over_window->interval->low);
    } else if (over_window && LogHalfWidth(*gain->interval) > kWide &&
               LogHalfWidth(*over_window->interval) < LogHalfWidth(*gain->interval)) {
      gain = over_window;
    }
    all.push_back({.kind = probe.kind,
                   .change = probe.change,
                   .base_samples_per_s = as_it_was.PerSecond(),
                   .base_half_width = std::expm1(base::HalfWidth(base_logs, kBaseLevel).value_or(0)),
                   .samples_per_s = changed.PerSecond(),
                   .half_width = std::expm1(base::HalfWidth(changed_logs, kBaseLevel).value_or(0)),
                   .gain = gain->gain,
                   .gain_interval = *gain->interval});
  }
  return all;
}

std::optional<double> DriftOf(const Tried& tried, const Result& result) {
  const auto rate = result.samples_per_s_each ? result.samples_per_s_each : result.samples_per_s;
  if (!rate || !(*rate > 0)) return std::nullopt;
  return tried.base_samples_per_s / *rate - 1;
}

bool SpeaksForTheRun(const Tried& tried, const Result& result) {
  const auto drift = DriftOf(tried, result);
  if (!drift) return false;
  const double allowed = kWide + tried.base_half_width + RelativeHalfWidth(result).value_or(0);
  return std::abs(*drift) <= allowed || (tried.kind == trace::ProbeKind::kSetting && *drift > 0);
}

}  // namespace pipesim::measure
