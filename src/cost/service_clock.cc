#include "cost/service_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pipesim::cost {

using base::Duration;
using base::Instant;

namespace {

__extension__ using Wide = __int128;  // an amount of bytes times a 62-bit numerator

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// Whole numbers of this many bits are exact in a double.
constexpr int kBits = std::numeric_limits<double>::digits;

}  // namespace

// Rates are mostly whole numbers: 1e9 / rate in lowest terms. Of others the nanoseconds are taken as
// the double has them, a whole number over a power of two.
ServiceClock::ServiceClock(double per_s) : ns_each_(1e9 / per_s) {
  if (per_s >= 1 && per_s < std::ldexp(1.0, kBits) && per_s == std::floor(per_s)) {
    const auto rate = static_cast<std::int64_t>(per_s);
    const std::int64_t common = std::gcd(kNsPerSecond, rate);
    ns_ = kNsPerSecond / common;
    parts_ = rate / common;
    return;
  }
  constexpr int kMostBits = 62;  // of parts_, so that two fractions add up
  const int bits = std::clamp(kBits - 1 - std::ilogb(ns_each_), 0, kMostBits);
  ns_ = std::llround(std::ldexp(ns_each_, bits));
  parts_ = std::int64_t{1} << bits;
}

void ServiceClock::SetAmount(std::int64_t amount) {
  const Wide ns = Wide{amount} * ns_;
  amount_ = amount;
  whole_ns_ = static_cast<std::int64_t>(ns / parts_);
  part_ = static_cast<std::int64_t>(ns % parts_);
}

Instant ServiceClock::Serve(Instant at, std::int64_t amount) {
  if (amount != amount_) SetAmount(amount);
  if (at > free_) {
    free_ = at;
    rest_ = 0;
  }
  free_ += Duration(whole_ns_);
  rest_ += part_;
  if (rest_ >= parts_) {
    rest_ -= parts_;
    free_ += Duration(1);
  }
  return free_;
}

Instant ServiceClock::LastStart(Instant at, std::int64_t amount) {
  return Serve(at, amount) - Duration(ns_ / parts_);
}

Duration ServiceClock::TimeOf(std::int64_t amount) const {
  return Duration(std::llround(static_cast<double>(amount) * ns_each_));
}

}  // namespace pipesim::cost
