// Durations, instants, bytes and rates. Time is integer nanoseconds, so that a run in virtual time
// is exact and repeatable. No parsing or printing (see spec/units_text.h).
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>

namespace pipesim::base {

using Duration = std::chrono::nanoseconds;

/// The timeline of one run: CLOCK_MONOTONIC in the threaded engine, virtual time in the other.
/// Only differences and order have meaning.
struct RunTimeline {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<RunTimeline>;
  static constexpr bool is_steady = true;
};
using Instant = RunTimeline::time_point;

constexpr double ToSeconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }

/// Rounds to the nearest nanosecond; saturates at about 292 years.
inline Duration FromSeconds(double seconds) {
  const double ns = seconds * 1e9;
  if (!(ns < 9.2e18)) return Duration::max();
  if (ns < -9.2e18) return Duration::min();
  return Duration(std::llround(ns));
}

/// An amount of data. Never negative in a valid experiment.
struct Bytes {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.count * n}; }

/// A data rate, > 0 wherever it is used as a divisor.
struct BytesPerSecond {
  double per_s = 0;
  constexpr auto operator<=>(const BytesPerSecond&) const = default;
};

/// Time to move `amount` at `rate`, rounded to the nearest nanosecond.
inline Duration operator/(Bytes amount, BytesPerSecond rate) {
  return FromSeconds(static_cast<double>(amount.count) / rate.per_s);
}

}  // namespace pipesim::base
