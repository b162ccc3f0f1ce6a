// A quantity with a unit that is a number or a distribution: `Drawn<Duration>`, `Drawn<Bytes>`.
#pragma once

#include <cmath>

#include "base/random.h"
#include "base/units.h"

namespace pipesim::base {

template <class Unit>
struct UnitTraits;
template <>
struct UnitTraits<Duration> {
  static Duration From(double ns) { return Duration(std::llround(ns)); }
};
template <>
struct UnitTraits<Bytes> {
  static Bytes From(double bytes) { return {std::llround(bytes)}; }
};

/// `in_units` is in nanoseconds for Duration, in bytes for Bytes.
template <class Unit>
struct Drawn {
  Distribution in_units;
  bool operator==(const Drawn&) const = default;

  /// The draw of this key, as an integer amount.
  Unit Draw(KeyedStream stream) const {
    if (IsFixed()) return Mean();
    return UnitTraits<Unit>::From(base::Draw(in_units, stream));
  }
  Unit Mean() const { return UnitTraits<Unit>::From(in_units.Mean()); }
  bool IsFixed() const { return in_units.kind == DistributionKind::kFixed; }
  bool IsZero() const { return in_units.IsZero(); }
};

}  // namespace pipesim::base
