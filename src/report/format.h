// How tables print their numbers: rounding that keeps sums whole, bars, one scale for a column.
// Single numbers are written by base/number_text.h. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"

namespace pipesim::report {

using base::Amount;
using base::AmountOf;
using base::BinaryAmount;
using base::Count;
using base::Fixed;
using base::Gain;
using base::Noise;
using base::Percent;
using base::RateOf;
using base::Seconds;
using base::Significant;
using base::WithCommas;

/// Adds a space before the unit of a quantity: "784B" -> "784 B". Other texts stay unchanged.
std::string Spaced(std::string_view text);

/// 20 columns = 100 %; '.' for a share above 0 and below half a column.
std::string Bar(double share);

/// Splits `total` in proportion to `parts` (>= 0) into whole numbers that add up to it: Hamilton's
/// method of largest remainders. A part of 0 gets 0; all 0 when no part is above 0.
std::vector<std::int64_t> Apportion(std::int64_t total, std::span<const double> parts);

/// Shares of `parts` (>= 0) as whole per cents that add up to 100, or to 99 plus a "<1 %". All "0
/// %" when no part is above 0.
std::vector<std::string> WholePercents(std::span<const double> parts);

/// The unit and decimals of a table of times.
struct TimeScale {
  std::string_view unit = "ms";
  double per_second = 1e3;
  int decimals = 1;

  /// Three significant digits of `total_s`, at least one decimal.
  static TimeScale For(double total_s);
  /// This scale, or that of `total_s` if numbers would exceed 9,999.9.
  TimeScale Fitting(double total_s) const;
  std::int64_t Ticks(double seconds) const;  ///< in units of the last printed decimal
  std::string Text(std::int64_t ticks) const;
};

}  // namespace pipesim::report
