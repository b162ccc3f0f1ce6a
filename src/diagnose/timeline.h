// Where a step's time went, by the best clock available: the device's, else the training thread's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

struct TimelinePart {
  Side side = Side::kInput;
  std::string field;  ///< JSON path: "device.starved_s"
  double seconds = 0;
};

struct Timeline {
  double wall_s = 0;
  std::vector<TimelinePart> parts;  ///< without contended and other, which have no side
  double Share(Side side) const;    ///< 0 when nothing was measured
};

Timeline TimelineOf(const measure::Measurement& measurement);

/// The side that takes more than `share` of the timeline, if one does.
std::optional<Side> CertainSide(const Timeline& timeline, double share);

/// Whether the verdict may be one of this side.
bool MayBeOn(Verdict verdict, Side side);
/// The verdicts whose time shows only on this side, in the order of the decision.
std::vector<Verdict> VerdictsOf(Side side);
std::string_view ToText(Side side);  ///< "input", "transfer", "host", "compute"

}  // namespace pipesim::diagnose
