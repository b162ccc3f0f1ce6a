// From repeated measurements to a profile's figure: the median with its spread, rounded.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/stats.h"
#include "spec/machine_profile.h"

namespace pipesim::calibrate {

/// Standard deviation / mean; 0 of one value.
inline double SpreadOf(const std::vector<double>& values) {
  return values.size() > 1 ? base::Stdev(values) / base::Mean(values) : 0;
}

/// A measured number as the file shows it; more digits would be noise.
inline double Rounded(double value, int digits) {
  if (!(value > 0)) return value;
  const int shift = digits - 1 - static_cast<int>(std::floor(std::log10(value)));
  const double scale = std::pow(10, std::abs(shift));
  return shift < 0 ? std::round(value / scale) * scale : std::round(value * scale) / scale;
}

template <class T>
T FromNumber(double value) {
  if constexpr (std::is_same_v<T, base::Duration>) return base::FromSeconds(value);
  if constexpr (std::is_same_v<T, base::BytesPerSecond>) return {value};
  if constexpr (std::is_same_v<T, base::Bytes>) return {std::llround(value)};
  if constexpr (std::is_same_v<T, double>) return value;
}

/// Median and scatter; nullopt without a value.
template <class T>
spec::MaybeFigure<T> FigureOf(const std::vector<double>& values, const std::string& how) {
  const auto median = base::Quantile(values, 0.5);
  if (!median || !(*median > 0)) return std::nullopt;
  spec::Figure<T> figure{FromNumber<T>(Rounded(*median, 4)), std::nullopt, how};
  if (values.size() > 1) figure.spread = Rounded(SpreadOf(values), 2);
  return figure;
}

}  // namespace pipesim::calibrate
