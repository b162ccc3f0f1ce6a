// The axes of a sweep: which keys it varies, their values, and the points that they span. Read from
// the file's section `sweep:` and from --axis.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "spec/map_reader.h"
#include "spec/node.h"

namespace pipesim::spec {

/// A name of the command line for a key: "workers" for loader.workers.
struct ShortKey {
  std::string_view name, path;
  std::string (*to_yaml)(std::string_view) = nullptr;  ///< null: the value as typed
};

struct AxisValue {
  std::string text;   ///< YAML
  Place place;        ///< where the user wrote it, for problems
  std::string typed;  ///< as the user wrote it: "2ms" for `{kind: burn, cost: 2ms}`
};

/// One or several keys that change together.
struct SweepAxis {
  std::vector<std::string> keys;               ///< paths: "loader.workers"
  std::vector<std::vector<AxisValue>> values;  ///< at each position one value per key

  /// "4", of zipped keys "4+2".
  std::string LabelAt(std::size_t position) const;
};

struct Sweep {
  std::vector<SweepAxis> axes;
  std::optional<int> repeats;                 ///< of each point; nullopt: run.repeats
  std::optional<base::Duration> point_limit;  ///< a longer real run of a point is ended

  /// Of all points; 0 without axes.
  std::size_t Points() const;
  /// The position on each axis. The first axis changes slowest.
  std::vector<std::size_t> PositionOf(std::size_t point) const;
  std::size_t PointAt(std::span<const std::size_t> position) const;
};

/// What the section and --axis may ask for at most.
inline constexpr std::size_t kMostAxisValues = 10'000;
inline constexpr std::size_t kMostPoints = 1'000'000;

/// Values of an axis as text: `a,b`, `a:b:step`, `a:b:*factor`; of `zipped` keys `1+2,3+4`. Commas
/// inside quotes, {} and [] do not separate. A range ends at `b`, or at its last step before it.
/// `place` is that of the first character. Reports every problem; values without one are returned.
std::vector<std::vector<AxisValue>> ParseAxisValues(Reading& reading, std::string_view text,
                                                    const Place& place, std::size_t zipped);

/// The section `sweep:`.
void ReadSweep(Reading& reading, const Node& section, Sweep& out);

/// `typed` are the values of --axis. An axis of the same keys replaces that of the file.
void ReadAxisFlags(Reading& reading, std::span<const std::string> typed,
                   std::span<const ShortKey> short_keys, Sweep& out);

/// Problems of the axes together: a key in two of them, more points than kMostPoints.
void CheckAxes(Reading& reading, const Sweep& sweep);

}  // namespace pipesim::spec
