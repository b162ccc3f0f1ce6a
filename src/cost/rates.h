// Small helpers that the parts of a pipeline share: scaling a rate, a limit that may be absent.
#pragma once

#include <limits>
#include <optional>

#include "base/units.h"

namespace pipesim::cost {

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The rate of a service that takes `seconds`; unlimited when it takes no time.
inline double PerSecond(double seconds) { return seconds > 0 ? 1 / seconds : kNoLimit; }

/// A rate whose service takes `factor` times as long; 0 makes it free, so the limit goes.
inline void Scale(std::optional<base::BytesPerSecond>& rate, double factor) {
  if (!rate) return;
  if (factor > 0)
    rate->per_s /= factor;
  else
    rate.reset();
}

inline void Scale(base::Duration& time, double factor) {
  time = base::FromSeconds(base::ToSeconds(time) * factor);
}

/// Seconds that `bytes` take at `rate`; an absent rate is free.
inline double SecondsAt(const std::optional<base::BytesPerSecond>& rate, double bytes) {
  return rate ? bytes / rate->per_s : 0;
}

}  // namespace pipesim::cost
