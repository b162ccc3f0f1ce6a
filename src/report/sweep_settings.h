// The settings of a sweep's points, as its document has them: shared ones in `experiment`, the others as
// sets to which the points refer.
#pragma once

#include <string>
#include <vector>

#include "report/view.h"

namespace pipesim::report {

/// The settings of each point besides those that all share and the keys of the axes, in the order of
/// `points`. Absent views where points share all settings, and in an older report, which does not say.
std::vector<View> SettingsOfPoints(View document);

/// Settings that are not the same at all points, each with its values in the order of the points.
struct VaryingSetting {
  std::string key;
  std::vector<std::string> values;  ///< every one once; without those of points that lack the setting
  std::string origin;               ///< "preset"; of an axis' own key "axis"
};
/// By their keys, with those of the axes.
std::vector<VaryingSetting> VaryingSettings(View document);

}  // namespace pipesim::report
