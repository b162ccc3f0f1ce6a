// What the blocks of a sweep's text share: the points as rows of a table.
#pragma once

#include <string>
#include <vector>

#include "report/text_parts.h"

namespace pipesim::report {

struct SweepAxisText {
  std::string name;
  std::vector<std::string> labels;  ///< of each position, at least one
};

struct SweepRow {
  View point;
  View main;                               ///< its run, or its prediction
  std::vector<std::size_t> position = {};  ///< one for each axis, within its labels
  double rate = 0;                         ///< 0 where it failed
  bool ok = false;
};

struct SweepTable {
  std::vector<SweepAxisText> axes;
  std::vector<SweepRow> rows;  ///< fastest first, failed last

  /// The row of a point's number; nullptr: none.
  const SweepRow* RowOf(View point) const;
};

SweepTable TableOf(View document);

/// Over two axes: the verdicts, the gain of each step, and in large sweeps a heat map.
void AddSweepMaps(const Sheet& sheet, const SweepTable& table);

}  // namespace pipesim::report
