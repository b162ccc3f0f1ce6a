// Numbers as the report prints them: a fixed number of significant digits, thousands commas, one
// space before the unit, and rounding that keeps sums whole. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::report {

std::string WithCommas(std::int64_t value);  ///< "1,281,167"

/// A number of things, in full when it is whole: "8", "1,234", else like Significant: "2.50".
std::string Count(double value);

/// `value` with `decimals` digits after the point and thousands commas: "218.8", "1,234.50".
std::string Fixed(double value, int decimals);

/// `value` rounded to `digits` significant digits: 4683 -> "4,680", 54.68 -> "54.7", 0.2204 ->
/// "0.220".
std::string Significant(double value, int digits);

/// A duration in the unit that suits it: "10.0 s", "0.22 s", "2.0 ms", "350 us".
std::string Seconds(double seconds, int digits);

/// An amount in decimal units: "77 MB"; below 1 kB in bytes.
std::string Amount(double bytes);
/// `used of limit` in one binary unit: "0.9 of 8.0 GiB".
std::string AmountOf(double used_bytes, double limit_bytes);
/// `used of limit` in the limit's unit: "527 of 550 MB/s"; each in its own where they are far
/// apart.
std::string RateOf(double used_per_s, double limit_per_s);

/// A quantity as experiment files spell it, with a space before its unit: "784B" -> "784 B". Any
/// other text stays as it is.
std::string Spaced(std::string_view text);

/// A share as whole per cent: "28 %"; "<1 %" for what is above 0 and rounds to it; "0 %" for
/// nothing.
std::string Percent(double share);
/// A gain with its sign: "+155 %", "-8 %", and below 1 % with a decimal: "+0.3 %".
std::string Gain(double gain);
/// Half-width of an interval over its mean: "0.7 %", "31 %".
std::string Noise(double share);

/// 20 columns = 100 %; '.' for a share above 0 and below half a column.
std::string Bar(double share);

/// Splits `total` in proportion to `parts` (>= 0) into whole numbers that add up to it: Hamilton's
/// method of largest remainders. A part of 0 gets 0; all 0 when no part is above 0.
std::vector<std::int64_t> Apportion(std::int64_t total, std::span<const double> parts);

/// Shares of `parts` (>= 0) as whole per cents. The whole ones add up to 100, or to 99 where "<1 %"
/// stands for the rest. All "0 %" when no part is above 0.
std::vector<std::string> WholePercents(std::span<const double> parts);

/// In which unit and with how many decimals a table of times is printed.
struct TimeScale {
  std::string_view unit = "ms";
  double per_second = 1e3;
  int decimals = 1;

  /// Three significant digits of `total_s`, at least one decimal.
  static TimeScale For(double total_s);
  /// This scale, or the one of `total_s` where this one's numbers would grow beyond 9,999.9.
  TimeScale Fitting(double total_s) const;
  std::int64_t Ticks(double seconds) const;  ///< in units of the last printed decimal
  std::string Text(std::int64_t ticks) const;
};

}  // namespace pipesim::report
