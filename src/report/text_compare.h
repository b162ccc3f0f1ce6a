// What the blocks of a comparison's text share.
#pragma once

#include <string>

#include "report/text_parts.h"

namespace pipesim::report {

/// "8.0 %", "35 %": a share with a decimal below 10 %.
std::string ShareText(double share);
/// The same with a sign; what is above 0 never prints as 0.
std::string ChangeText(double change);
/// "-8.9 .. -7.1 %"; empty where a point has no interval.
std::string IntervalText(View point);

/// Two columns of figures for one point, with where its step's time moved.
void AddPairTable(const Sheet& sheet, View point, const std::string& b);
/// With --full: every setting that differs, by its key.
void AddChangedSettings(const Sheet& sheet);
/// One row a point.
void AddPointsTable(const Sheet& sheet);

}  // namespace pipesim::report
