// A random quantity with a unit: a fixed value or a distribution. `Drawn<Duration>`,
// `Drawn<Bytes>`.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/rounding.h"
#include "base/units.h"

namespace pipesim::base {

template <class Unit>
struct UnitTraits;
template <>
struct UnitTraits<Duration> {
  static Duration From(double ns) { return Duration(RoundToInteger(ns)); }
};
template <>
struct UnitTraits<Bytes> {
  static Bytes From(double bytes) { return {RoundToInteger(bytes)}; }
};

/// `in_units` is in nanoseconds for Duration, in bytes for Bytes.
template <class Unit>
struct Drawn {
  Distribution in_units;
  bool operator==(const Drawn&) const = default;

  /// The draw for the stream's key, rounded to an integer amount.
  Unit Draw(KeyedStream stream) const {
    if (IsFixed()) return Mean();
    return UnitTraits<Unit>::From(base::Draw(in_units, stream));
  }
  Unit Mean() const { return UnitTraits<Unit>::From(in_units.Mean()); }
  bool IsFixed() const { return in_units.kind == DistributionKind::kFixed; }
  bool IsZero() const { return in_units.IsZero(); }

  /// The same distribution with every value times `factor` >= 0.
  Drawn Scaled(double factor) const {
    Drawn scaled = *this;
    Distribution& of = scaled.in_units;
    for (double* part : {&of.mean, &of.stdev, &of.low, &of.high}) *part *= factor;
    for (double& value : of.values) value *= factor;
    return scaled;
  }
};

}  // namespace pipesim::base
