// The rate of one side with what is known of its noise, and the test between two of them. Plain
// numbers: knows no report and no engine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace pipesim::compare {

/// What the noise of a rate was taken from.
enum class Unit {
  kNone,        ///< one rate without an interval
  kRepeats,     ///< whole runs
  kBlocks,      ///< blocks of one run, long enough to be independent (measure::RateInterval)
  kPrediction,  ///< computed: there is no noise
};

/// A mean of log rates. The noise of a rate is proportional to it, and gains multiply.
struct Estimate {
  double rate = 0;  ///< samples/s; of repeats their geometric mean
  double log_rate = 0;
  double standard_error = 0;  ///< of log_rate; 0 where `unit` is kNone or kPrediction
  std::size_t count = 1;      ///< of units
  Unit unit = Unit::kNone;

  /// Of the 95 % interval, over the rate; nullopt without an interval.
  std::optional<double> RelativeHalfWidth() const;
};

/// nullopt when there is none, or one that is not positive. One rate has no interval.
std::optional<Estimate> FromRepeats(std::span<const double> rates);

/// A 95 % interval of Student's t over `count` repeats or blocks around `rate`, as reports hold it.
/// nullopt for a rate that is not positive; without an interval where `count` < 2 or it is not
/// finite.
std::optional<Estimate> FromInterval(double rate, double low, double high, std::size_t count,
                                     Unit unit);

/// nullopt for a rate that is not positive.
std::optional<Estimate> FromPrediction(double rate);

/// "batch means (24)" -> 24 blocks, "repeats (5)" -> 5 repeats: how a report's interval was made.
struct Method {
  Unit unit = Unit::kNone;
  std::size_t count = 0;
};
Method ReadMethod(std::string_view method);

/// From fewer repeats or blocks a side nothing is called the same.
inline constexpr std::size_t kFewest = 5;

/// Differences are called at this level, two-sided: one comparison in a hundred of equal sides.
inline constexpr double kAlpha = 0.01;

/// b against a.
struct Difference {
  double change = 0;                ///< b / a − 1
  std::optional<double> low, high;  ///< 95 % interval of the change; both nullopt: unknown
  double noise_floor = 0;           ///< smaller changes are not called
  bool significant = false;         ///< Welch's t test at kAlpha
  bool exact = false;               ///< both are predictions
  bool enough = false;              ///< both have kFewest or more
};

/// Welch's t test on the log rates, with Satterthwaite's degrees of freedom. Source: Welch, "The
/// generalization of Student's problem when several different population variances are involved",
/// Biometrika 34 (1947).
Difference Compare(const Estimate& a, const Estimate& b);

enum class Call { kFaster, kSlower, kSame, kUnsure };

/// FASTER, SLOWER: significant, and the change is beyond the noise floor. SAME: else, when the
/// whole interval lies within the noise floor or within ± `threshold`, and there are enough repeats
/// or blocks. Predictions are SAME only when equal.
Call Judge(const Difference& difference, std::optional<double> threshold);

/// What --fail-on-regression says of one change.
enum class Regression {
  kNo,
  kYes,   ///< the whole interval lies below −threshold
  kOpen,  ///< the interval reaches below it, or is not known
};
Regression RegressionOf(const Difference& difference, double threshold);

std::string_view ToText(Call call);  ///< "FASTER"
std::string_view ToText(Unit unit);  ///< "repeats"

}  // namespace pipesim::compare
