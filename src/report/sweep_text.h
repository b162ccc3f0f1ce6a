// What the blocks of a sweep's text share: the points as rows of a table.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// "workers 8, batch 256".
std::string PointName(const SweepTable& table, const SweepRow& row);

/// A column of the ranked table beside the axes; `least` is dropped first where it is too wide.
struct SweepColumn {
  std::string title;
  bool left = false;
  int least = 0;  ///< 0: never dropped
  std::string (*cell)(const SweepRow&);
};
std::vector<SweepColumn> FigureColumns(const Sheet& sheet);

/// The rows to show: all, or in large sweeps the best, the marked and the failed ones.
std::vector<const SweepRow*> ShownRows(const SweepTable& table, bool all);

inline constexpr std::string_view kParetoNote =
    "* best for its workers and memory (differences below 2 % ignored)";

void AddSweepAnswer(const Sheet& sheet, const SweepTable& table);  ///< best, enough, next
void AddSweepSummary(const Sheet& sheet);                          ///< how many points, how long
void AddSweepJournal(const Sheet& sheet);

/// A plane through the sweep: two axes, the others as at the best point.
struct Plane {
  std::size_t down = 0;
  std::optional<std::size_t> across;  ///< nullopt: only one axis has several values
  std::map<std::pair<std::size_t, std::size_t>, const SweepRow*> rows;
  std::string elsewhere;  ///< "prefetch 2": where the other axes are

  /// nullptr: this point was not part of the sweep, or is not finished.
  const SweepRow* At(std::size_t y, std::size_t x) const {
    const auto found = rows.find({y, x});
    return found == rows.end() ? nullptr : found->second;
  }
};
/// nullopt when no point has a result or no axis several values.
std::optional<Plane> PlaneOf(const SweepTable& table);

/// A table with a title, the names of its axes and a cell for each row and column.
struct SweepGrid {
  std::string title, down_name;
  std::vector<std::string> down_labels;
  std::string across_name;
  std::vector<std::string> across_labels;
  std::vector<std::vector<std::string>> cells;
};
/// What one step further gains, along each axis of the plane, and from the best point along others.
std::vector<SweepGrid> GainGrids(View document, const SweepTable& table, const Plane& plane);

/// "loader" of "loader-bound", "COMPUTE", "oom"; "-" for nullptr.
std::string VerdictWord(const SweepRow* row);

/// Over two axes: the verdicts, the gain of each step, and in large sweeps a heat map.
void AddSweepMaps(const Sheet& sheet, const SweepTable& table);

}  // namespace pipesim::report
