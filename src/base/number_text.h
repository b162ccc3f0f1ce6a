// Numbers as people read them: a fixed number of significant digits, thousands commas, one space
// before the unit. For reports and messages; what a program must read back is spec/units_text.h.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace pipesim::base {

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
/// An amount in binary units, as memory is sold and freed: "1,682.3 MiB", "9.77 GiB".
std::string BinaryAmount(double bytes);
/// `used of limit` in one binary unit: "0.9 of 8.0 GiB".
std::string AmountOf(double used_bytes, double limit_bytes);
/// `used of limit` in the limit's unit: "527 of 550 MB/s"; each in its own where they are far
/// apart.
std::string RateOf(double used_per_s, double limit_per_s);

/// A share as whole per cent: "28 %"; "<1 %" for what is above 0 and rounds to it; "0 %" for
/// nothing.
std::string Percent(double share);
/// A gain with its sign: "+155 %", "-8 %", and below 1 % with a decimal: "+0.3 %"; from ten times on
/// the factor: "966 ×".
std::string Gain(double gain);
/// Half-width of an interval over its mean: "0.7 %", "31 %".
std::string Noise(double share);

/// floor(log10(|value|)) after rounding to `digits` significant digits; value is finite and not 0.
int RoundedExponent(double value, int digits);

/// Doubles above hold no fractions, and no report means them.
inline constexpr double kLargestWhole = 9e15;

}  // namespace pipesim::base
