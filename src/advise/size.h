// The least value of an axis that reaches a target, or the most that keeps it, by bisection. Asks a
// function what each value reaches; knows neither engines nor the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pipesim::advise {

enum class Metric { kUtilization, kSamplesPerSecond };

/// What a prediction of one value says.
struct Rates {
  double samples_per_s = 0;  ///< of all accelerators together
  std::optional<double> utilization;

  /// nullopt when unknown.
  std::optional<double> Of(Metric metric) const;
};

struct SizeQuestion {
  Metric metric = Metric::kUtilization;
  double target = 0;  ///< at least
  /// Integers are found exactly, other values to 1 %.
  bool whole = true;
  double least = 1, most = 1;  ///< the values that may be tried
  double start = 1;            ///< where the search of a continuous axis begins
  /// The metric falls along the axis, and the answer is the largest value that keeps the target;
  /// else it rises, and the answer is the smallest value that reaches it.
  bool falls = false;
};

struct SizeTry {
  double value = 0;
  std::optional<Rates> rates;  ///< nullopt: it cannot run
  bool meets = false;
  std::string failure = {};  ///< why it cannot run; empty where nobody asked
};

struct SizeAnswer {
  std::optional<SizeTry> answer;    ///< nullopt: no value reaches the target
  std::optional<SizeTry> neighbor;  ///< one step towards missing it; nullopt: the axis ends there
  std::optional<SizeTry> best;      ///< of all tries, the first near the highest; nullopt: none ran
  std::optional<SizeTry> ample;     ///< the last near the highest: here the axis limits least
  std::vector<SizeTry> tried;       ///< by value
};

/// nullopt: this value cannot run.
using RatesOf = std::function<std::optional<Rates>(double value)>;

/// Grows from the start with doubling steps until the target is met (or missed), then bisects. On a
/// rising axis it gives up when the metric no longer rises, and of integers then looks around the
/// best one: contention makes a peak.
SizeAnswer FindSize(const SizeQuestion& question, const RatesOf& rates_of);

}  // namespace pipesim::advise
