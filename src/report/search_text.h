// What the views of size and tune reports share: their rows, and the blocks around them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/text_parts.h"

namespace pipesim::report {

/// A row of a size report's table.
struct SizeRow {
  std::string what;  ///< "answer", "one step less", "now"
  std::string setting, rate, utilization;
  std::string verdict;  ///< "met", "missed", "no run"
  View attempt;
};
/// `all`: with every value that was tried.
std::vector<SizeRow> SizeRows(View document, bool all);
void AddSizeAnswer(const Sheet& sheet);
void AddSizeRest(const Sheet& sheet);  ///< what binds, headroom, next

/// A setting that tune varies.
struct SettingColumn {
  std::string_view key, title;
  bool always = false;  ///< else only where the steps differ in it
};
std::vector<SettingColumn> SettingColumnsOf(View document);
/// Empty where it is not known.
std::string SettingOf(View settings, std::string_view key);
void AddTuneAnswer(const Sheet& sheet);
void AddTuneTakeOver(const Sheet& sheet);  ///< PyTorch, YAML, next

}  // namespace pipesim::report
