// Durations of experiments that an import writes.
#pragma once

#include <algorithm>
#include <string>

#include "spec/units_text.h"

namespace pipesim::interop {

/// At most thirty years, which no experiment accepts either.
inline std::string DurationText(double seconds) {
  constexpr double kMostSeconds = 1e9;
  return spec::ToText(base::FromSeconds(std::min(seconds, kMostSeconds)));
}

}  // namespace pipesim::interop
