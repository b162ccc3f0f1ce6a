#include "report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

namespace pipesim::report {
namespace {

constexpr int kBarColumns = 20;
constexpr double kLargestWhole = 9e15;  // larger doubles hold no fractions

/// Thousands commas into the whole part of a plain decimal text.
std::string Commas(std::string text) {
  const std::size_t first = text.find_first_of("0123456789");
  std::size_t end = text.find('.');
  if (end == std::string::npos) end = text.size();
  for (std::size_t at = end; at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

/// floor(log10(|value|)) after rounding to `digits` significant digits; value != 0.
int RoundedExponent(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  return std::stoi(text.substr(text.find('e') + 1));
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

std::string WithCommas(std::int64_t value) { return Commas(fmt::format("{}", value)); }

std::string Fixed(double value, int decimals) {
  if (std::abs(value) > kLargestWhole) return fmt::format("{:.2e}", value);
  return Commas(fmt::format("{:.{}f}", value + 0.0, decimals));
}

std::string Significant(double value, int digits) {
  if (value == 0) return "0";
  if (std::abs(value) > kLargestWhole || std::abs(value) < 1e-6)
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

std::string Spaced(std::string_view text) {
  const std::size_t unit = text.find_first_not_of("0123456789.");
  const bool quantity = unit != std::string_view::npos && unit > 0 &&
                        (text[unit] == '%' || std::isalpha(static_cast<unsigned char>(text[unit])));
  if (!quantity || text.find(' ') != std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, unit)) + ' ' + std::string(text.substr(unit));
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

std::string AmountOf(double used_bytes, double limit_bytes) {
  constexpr double kGiB = 1024.0 * 1024 * 1024, kMiB = 1024.0 * 1024;
  const bool big = limit_bytes >= kGiB;
  const double unit = big ? kGiB : kMiB;
  return Fixed(used_bytes / unit, 1) + " of " + Fixed(limit_bytes / unit, 1) +
         (big ? " GiB" : " MiB");
}

std::string RateOf(double used_per_s, double limit_per_s) {
  const DecimalUnit unit = UnitOf(limit_per_s);
  // Far below the limit, its unit would print zeros.
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

std::string Bar(double share) {
  if (!(share > 0)) return {};
  const auto columns =
      std::clamp<std::int64_t>(std::llround(std::min(share, 1.0) * kBarColumns), 0, kBarColumns);
  return columns == 0 ? "." : std::string(static_cast<std::size_t>(columns), '#');
}

std::vector<std::int64_t> Apportion(std::int64_t total, std::span<const double> parts) {
  std::vector<std::int64_t> whole(parts.size(), 0);
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  if (!(sum > 0) || total <= 0) return whole;
  std::vector<double> remainder(parts.size(), -1);
  std::int64_t left = total;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!(parts[i] > 0)) continue;
    const double exact = parts[i] / sum * static_cast<double>(total);
    // Rounding of the sum can put a single part just above the total.
    whole[i] = std::min(static_cast<std::int64_t>(std::floor(exact)), left);
    remainder[i] = exact - static_cast<double>(whole[i]);
    left -= whole[i];
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++whole[order[i]];
  return whole;
}

std::vector<std::string> WholePercents(std::span<const double> parts) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<std::int64_t> whole(parts.size(), 0);
  std::vector<double> exact(parts.size(), 0);
  if (sum > 0)
    for (std::size_t i = 0; i < parts.size(); ++i) {
      exact[i] = parts[i] / sum * 100;
      whole[i] = std::llround(exact[i]);
    }
  // Rows are rounded as a reader expects. Only if the sum is off, the row nearest to the next whole
  // number moves.
  const auto total = [&] { return std::accumulate(whole.begin(), whole.end(), std::int64_t{0}); };
  const auto move_nearest = [&](int by) {
    std::size_t nearest = parts.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!(exact[i] > 0) || whole[i] + by < 0) continue;
      const auto gap = [&](std::size_t row) { return by * (exact[row] - double(whole[row])); };
      if (nearest == parts.size() || gap(i) > gap(nearest)) nearest = i;
    }
    whole[nearest] += by;
  };
  const auto has_trace = [&] {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (exact[i] > 0 && whole[i] == 0) return true;
    return false;
  };
  while (sum > 0 && total() > 100) move_nearest(-1);
  while (sum > 0 && total() < (has_trace() ? 99 : 100)) move_nearest(+1);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    texts.push_back(whole[i] == 0 && exact[i] > 0 ? "<1 %" : fmt::format("{} %", whole[i]));
  return texts;
}

TimeScale TimeScale::For(double total_s) {
  TimeScale scale{"s", 1, 1};
  if (total_s < 0.0009995)
    scale = {"us", 1e6, 1};
  else if (total_s < 0.9995)
    scale = {"ms", 1e3, 1};
  const double shown = total_s * scale.per_second;
  if (shown > 0) scale.decimals = std::clamp(2 - RoundedExponent(shown, 3), 1, 3);
  return scale;
}

TimeScale TimeScale::Fitting(double total_s) const {
  return total_s * per_second < 9999.9 ? *this : For(total_s);
}

std::int64_t TimeScale::Ticks(double seconds) const {
  return std::llround(std::min(seconds * per_second * PowerOfTen(decimals), kLargestWhole));
}

std::string TimeScale::Text(std::int64_t ticks) const {
  return Fixed(static_cast<double>(ticks) / PowerOfTen(decimals), decimals);
}

}  // namespace pipesim::report
