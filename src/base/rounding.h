// Rounding of values that are not negative, inlined. std::llround and std::ceil are calls into libm.
#pragma once

#include <cstdint>

namespace pipesim::base {

/// std::llround for 0 <= `value` < 2^63: halves round up.
inline std::int64_t RoundToInteger(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return whole + (value - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

/// std::ceil for 0 <= `value` < 2^63.
inline std::int64_t CeilToInteger(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return whole + (static_cast<double>(whole) < value ? 1 : 0);
}

}  // namespace pipesim::base
