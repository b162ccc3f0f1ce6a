#include "report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

namespace pipesim::report {
namespace {

constexpr int kBarColumns = 20;

double PowerOfTen(int exponent) { return std::pow(10.0, exponent); }

}  // namespace

std::string Spaced(std::string_view text) {
  const std::size_t unit = text.find_first_not_of("0123456789.");
  const bool quantity = unit != std::string_view::npos && unit > 0 &&
                        (text[unit] == '%' || std::isalpha(static_cast<unsigned char>(text[unit])));
  if (!quantity || text.find(' ') != std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, unit)) + ' ' + std::string(text.substr(unit));
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
  if (shown > 0 && std::isfinite(shown))
    scale.decimals = std::clamp(2 - base::RoundedExponent(shown, 3), 1, 3);
  return scale;
}

TimeScale TimeScale::Fitting(double total_s) const {
  return total_s * per_second < 9999.9 ? *this : For(total_s);
}

std::int64_t TimeScale::Ticks(double seconds) const {
  return std::llround(std::min(seconds * per_second * PowerOfTen(decimals), base::kLargestWhole));
}

std::string TimeScale::Text(std::int64_t ticks) const {
  return Fixed(static_cast<double>(ticks) / PowerOfTen(decimals), decimals);
}

}  // namespace pipesim::report
