#include "compare/estimate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/stats.h"

namespace pipesim::compare {
namespace {

constexpr double kShownLevel = 0.95;

/// Two runs of one configuration, each with its own address space, differ by this much without any
/// change in code. Source: Mytkowicz, Diwan, Hauswirth, Sweeney, "Producing wrong data without
/// doing anything obviously wrong!", ASPLOS 2009 (link order and environment alone move more).
constexpr double kLeastFloor = 0.005;
/// run.max_noise, what a run may be uncertain by. Blocks of one run cannot show how runs differ.
constexpr double kMostFloor = 0.02;
/// Of one repeat: 95 of 100 repeats lie nearer to their mean.
constexpr double kFloorDeviations = 2;

bool HasNoise(const Estimate& estimate) {
  return estimate.unit == Unit::kRepeats || estimate.unit == Unit::kBlocks;
}

/// Of log_rate. measure::RateInterval lengthens blocks until the correlation of neighbours is
/// within two standard errors (1 / sqrt n) of none. One of them is allowed for here: a correlation
/// r of neighbours makes the variance of the mean larger by 1 + 2 r.
double Variance(const Estimate& estimate) {
  const double alone = estimate.standard_error * estimate.standard_error;
  if (estimate.unit != Unit::kBlocks) return alone;
  return alone * (1 + 2 / std::sqrt(static_cast<double>(estimate.count)));
}

/// Student's t for any number of degrees, between whole ones linearly in their reciprocal, in which
/// it is nearly straight.
double StudentT(double level, double degrees) {
  const double low = std::max(1.0, std::floor(degrees)), high = low + 1;
  const double share = degrees <= low ? 0 : (1 / low - 1 / degrees) / (1 / low - 1 / high);
  const double at_low = base::StudentT(level, static_cast<std::size_t>(low));
  return share == 0
             ? at_low
             : at_low + share * (base::StudentT(level, static_cast<std::size_t>(high)) - at_low);
}

/// Satterthwaite's; a side without noise has no part in it. Large where neither has.
double Degrees(const Estimate& a, const Estimate& b) {
  constexpr double kMost = 1e6;
  double sum = 0, parts = 0;
  for (const Estimate* side : {&a, &b}) {
    const double variance = Variance(*side);
    sum += variance;
    if (variance > 0) parts += variance * variance / static_cast<double>(side->count - 1);
  }
  return parts > 0 ? std::clamp(sum * sum / parts, 1.0, kMost) : kMost;
}

/// Of one repeat, pooled over the sides that have noise.
double Deviation(const Estimate& a, const Estimate& b) {
  double squares = 0, degrees = 0;
  for (const Estimate* side : {&a, &b}) {
    if (!HasNoise(*side)) continue;
    const auto count = static_cast<double>(side->count);
    squares += Variance(*side) * count * (count - 1);
    degrees += count - 1;
  }
  return degrees > 0 ? std::sqrt(squares / degrees) : 0;
}

double NoiseFloor(const Estimate& a, const Estimate& b) {
  const auto only_repeats = [](const Estimate& side) {
    return side.unit == Unit::kRepeats || side.unit == Unit::kPrediction;
  };
  if (!only_repeats(a) || !only_repeats(b)) return kMostFloor;
  return std::clamp(kFloorDeviations * Deviation(a, b), kLeastFloor, kMostFloor);
}

bool Enough(const Estimate& side) {
  return side.unit == Unit::kPrediction || (HasNoise(side) && side.count >= kFewest);
}

}  // namespace

std::optional<double> Estimate::RelativeHalfWidth() const {
  if (!HasNoise(*this)) return std::nullopt;
  return base::StudentT(kShownLevel, count - 1) * standard_error;
}

std::optional<Estimate> FromRepeats(std::span<const double> rates) {
  std::vector<double> logs;
  for (const double rate : rates) {
    if (!(rate > 0)) return std::nullopt;
    logs.push_back(std::log(rate));
  }
  if (logs.empty()) return std::nullopt;
  const double mean = base::Mean(logs);
  Estimate estimate{.rate = std::exp(mean), .log_rate = mean, .count = logs.size()};
  if (logs.size() < 2) return estimate;
  estimate.unit = Unit::kRepeats;
  estimate.standard_error = base::Stdev(logs) / std::sqrt(static_cast<double>(logs.size()));
  return estimate;
}

std::optional<Estimate> FromInterval(double rate, double low, double high, std::size_t count,
                                     Unit unit) {
  if (!(rate > 0)) return std::nullopt;
  Estimate estimate{.rate = rate, .log_rate = std::log(rate)};
  const double half = (high - low) / 2 / rate;
  if (count < 2 || !std::isfinite(half) || half < 0) return estimate;
  estimate.count = count;
  estimate.unit = unit;
  // The deviation of a logarithm is that of the number over its mean (delta method).
  estimate.standard_error = half / base::StudentT(kShownLevel, count - 1);
  return estimate;
}

std::optional<Estimate> FromPrediction(double rate) {
  if (!(rate > 0)) return std::nullopt;
  return Estimate{.rate = rate, .log_rate = std::log(rate), .unit = Unit::kPrediction};
}

Method ReadMethod(std::string_view method) {
  const std::size_t open = method.find('(');
  if (open == std::string_view::npos) return {};
  std::size_t count = 0;
  std::from_chars(method.data() + open + 1, method.data() + method.size(), count);
  return {method.starts_with("repeats") ? Unit::kRepeats : Unit::kBlocks, count};
}

Difference Compare(const Estimate& a, const Estimate& b) {
  const double log_change = b.log_rate - a.log_rate;
  Difference difference;
  difference.change = std::expm1(log_change);
  if (a.unit == Unit::kPrediction && b.unit == Unit::kPrediction) {
    difference.low = difference.high = difference.change;
    difference.exact = difference.enough = true;
    difference.significant = difference.change != 0;
    return difference;
  }
  difference.noise_floor = NoiseFloor(a, b);
  difference.enough = Enough(a) && Enough(b);
  if (a.unit == Unit::kNone || b.unit == Unit::kNone) return difference;
  const double error = std::sqrt(Variance(a) + Variance(b)), degrees = Degrees(a, b);
  const double half = StudentT(kShownLevel, degrees) * error;
  const double low = std::expm1(log_change - half), high = std::expm1(log_change + half);
  if (std::isfinite(low) && std::isfinite(high)) {
    difference.low = low;
    difference.high = high;
  }
  difference.significant = std::abs(log_change) > StudentT(1 - kAlpha, degrees) * error;
  return difference;
}

Call Judge(const Difference& difference, std::optional<double> threshold) {
  // Equal distances of the logarithms: 2 % more and 2 % fewer are the same distance.
  const bool beyond = std::abs(std::log1p(difference.change)) > std::log1p(difference.noise_floor);
  if (difference.significant && beyond)
    return difference.change > 0 ? Call::kFaster : Call::kSlower;
  if (difference.exact) return Call::kSame;
  const double margin = std::max(difference.noise_floor, threshold.value_or(0));
  const bool within = difference.low && *difference.low >= -margin && *difference.high <= margin;
  return difference.enough && within ? Call::kSame : Call::kUnsure;
}

Regression RegressionOf(const Difference& difference, double threshold) {
  if (!difference.low) return Regression::kOpen;
  if (*difference.high < -threshold) return Regression::kYes;
  return *difference.low < -threshold ? Regression::kOpen : Regression::kNo;
}

std::string_view ToText(Call call) {
  switch (call) {
    case Call::kFaster:
      return "FASTER";
    case Call::kSlower:
      return "SLOWER";
    case Call::kSame:
      return "SAME";
    case Call::kUnsure:
      break;
  }
  return "UNSURE";
}

std::string_view ToText(Unit unit) {
  switch (unit) {
    case Unit::kRepeats:
      return "repeats";
    case Unit::kBlocks:
      return "blocks";
    case Unit::kPrediction:
      return "prediction";
    case Unit::kNone:
      break;
  }
  return "none";
}

}  // namespace pipesim::compare
