#include "base/number_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

namespace pipesim::base {
namespace {

/// Thousands commas into the whole part of a plain decimal text.
std::string Commas(std::string text) {
  const std::size_t first = text.find_first_of("0123456789");
  std::size_t end = text.find('.');
  if (end == std::string::npos) end = text.size();
  for (std::size_t at = end; at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

double PowerOfTen(int exponent) { return std::pow(10.0, exponent); }

struct DecimalUnit {
  double bytes;
  std::string_view name;
};
constexpr std::array<DecimalUnit, 5> kDecimalUnits = {
    {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};

DecimalUnit UnitOf(double bytes) {
  for (const DecimalUnit& unit : kDecimalUnits)
    if (std::abs(bytes) >= unit.bytes * 0.9995) return unit;
  return kDecimalUnits.back();
}

}  // namespace

int RoundedExponent(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  return std::stoi(text.substr(text.find('e') + 1));
}

std::string WithCommas(std::int64_t value) { return Commas(fmt::format("{}", value)); }

std::string Fixed(double value, int decimals) {
  if (std::abs(value) > kLargestWhole) return fmt::format("{:.2e}", value);
  return Commas(fmt::format("{:.{}f}", value + 0.0, decimals));
}

std::string Significant(double value, int digits) {
  if (value == 0) return "0";
  if (!std::isfinite(value) || std::abs(value) > kLargestWhole || std::abs(value) < 1e-6)
    return fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = RoundedExponent(value, digits);
  if (exponent < digits) return Fixed(value, digits - 1 - exponent);
  const double step = PowerOfTen(exponent - digits + 1);
  return Fixed(std::round(value / step) * step, 0);
}

std::string Count(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) <= kLargestWhole;
  return whole ? WithCommas(static_cast<std::int64_t>(value)) : Significant(value, 3);
}

std::string Seconds(double seconds, int digits) {
  const double size = std::abs(seconds);
  if (size == 0 || size >= 0.0995) return Significant(seconds, digits) + " s";
  if (size >= 0.0009995) return Significant(seconds * 1e3, digits) + " ms";
  return Significant(seconds * 1e6, digits) + " us";
}

std::string Amount(double bytes) {
  const DecimalUnit unit = UnitOf(bytes);
  const double count = bytes / unit.bytes;
  const int digits = std::abs(count) >= 10 ? 3 : 2;
  const bool whole = unit.bytes == 1 || std::abs(count) >= 10;
  return (whole ? Fixed(count, 0) : Significant(count, digits)) + " " + std::string(unit.name);
}

std::string BinaryAmount(double bytes) {
  constexpr double kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;
  if (bytes >= 4 * kGiB) return Significant(bytes / kGiB, 3) + " GiB";
  if (bytes >= kMiB) return Fixed(bytes / kMiB, 1) + " MiB";
  if (bytes >= kKiB) return Fixed(bytes / kKiB, 1) + " KiB";
  return Fixed(bytes, 0) + " B";
}

std::string AmountOf(double used_bytes, double limit_bytes) {
  constexpr double kGiB = 1024.0 * 1024 * 1024, kMiB = 1024.0 * 1024;
  const bool big = limit_bytes >= kGiB;
  const double unit = big ? kGiB : kMiB;
  return Fixed(used_bytes / unit, 1) + " of " + Fixed(limit_bytes / unit, 1) +
         (big ? " GiB" : " MiB");
}

std::string RateOf(double used_per_s, double limit_per_s) {
  const DecimalUnit unit = UnitOf(limit_per_s);
  // Far below the limit its unit would print a row of zeros.
  if (used_per_s < 0.01 * unit.bytes)
    return Amount(used_per_s) + "/s of " + Amount(limit_per_s) + "/s";
  const auto text = [&](double rate) { return Significant(rate / unit.bytes, 3); };
  return text(used_per_s) + " of " + text(limit_per_s) + " " + std::string(unit.name) + "/s";
}

std::string Percent(double share) {
  const double percent = share * 100;
  if (percent == 0) return "0 %";
  if (percent > 0 && percent < 0.5) return "<1 %";
  return Fixed(std::round(percent), 0) + " %";
}

std::string Gain(double gain) {
  constexpr double kAsFactor = 10;  // larger gains are easier to read as a factor
  if (gain >= kAsFactor) return Significant(gain + 1, 3) + " ×";
  const double percent = gain * 100;
  if (percent == 0) return "0 %";
  std::string text = std::abs(percent) < 0.95 ? Fixed(percent, 1) : Fixed(std::round(percent), 0);
  if (text == "-0.0" || text == "0.0") return "0 %";
  return (percent > 0 ? "+" : "") + text + " %";
}

std::string Noise(double share) {
  const double percent = share * 100;
  return (percent < 9.95 ? Fixed(percent, 1) : Fixed(std::round(percent), 0)) + " %";
}

}  // namespace pipesim::base
