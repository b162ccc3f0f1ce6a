#include "text_checks.h"

#include <cmath>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include "base/text.h"

namespace pipesim::tests {
namespace {

/// The value, its decimals and the per cents of a line of a table of times.
struct TimeCell {
  double value = 0;
  int decimals = 0;
  std::string percent;
};

std::optional<TimeCell> ReadTimeCell(const std::string& line) {
  static const std::regex pattern(R"( ([0-9,]+)\.([0-9]+) (?:s|ms|us) +(<?[0-9]+) %( |$))");
  std::smatch match;
  if (!std::regex_search(line, match, pattern)) return std::nullopt;
  std::string whole = match[1];
  std::erase(whole, ',');
  const std::string decimals = match[2];
  return TimeCell{std::stod(whole + "." + decimals), static_cast<int>(decimals.size()), match[3]};
}

/// A table of times is being read: its total, and what its rows gave so far.
struct Table {
  std::string title;
  double total = 0, sum = 0, tolerance = 0;
  int percent = 0, traces = 0, rows = 0;
};

testing::AssertionResult Closed(const Table& table) {
  if (table.rows == 0) return testing::AssertionFailure() << "no rows below: " << table.title;
  if (std::abs(table.sum - table.total) > table.tolerance)
    return testing::AssertionFailure()
           << "rows add up to " << table.sum << ", not " << table.total << ": " << table.title;
  const bool whole = table.percent == 100 || (table.percent == 99 && table.traces > 0);
  const bool empty = table.total == 0 && table.percent == 0;
  if (!whole && !empty)
    return testing::AssertionFailure()
           << "per cents add up to " << table.percent << ": " << table.title;
  return testing::AssertionSuccess();
}

testing::AssertionResult LineIsFit(const std::string& line) {
  const bool command = line.starts_with("  pipesim ");
  if (!command && base::DisplayWidth(line) > 80)
    return testing::AssertionFailure() << "wider than 80 columns: " << line;
  if (base::Printable(line) != line)
    return testing::AssertionFailure() << "not printable: " << base::Printable(line);
  if (line.ends_with(' ')) return testing::AssertionFailure() << "ends in a space: " << line;
  return testing::AssertionSuccess();
}

}  // namespace

testing::AssertionResult KeepsTheRules(const std::string& text) {
  if (!text.ends_with('\n')) return testing::AssertionFailure() << "the last line is not ended";
  std::istringstream lines(text);
  std::optional<Table> table;
  for (std::string line; std::getline(lines, line);) {
    if (const auto fit = LineIsFit(line); !fit) return fit;
    const auto cell = ReadTimeCell(line);
    if (cell && (line.starts_with("Where ") || line.starts_with("The same step"))) {
      const double half_digit = 0.5 * std::pow(10.0, -cell->decimals);
      table = Table{line, cell->value, 0, half_digit, 0, 0, 0};
    } else if (cell && table) {
      table->sum += cell->value;
      ++table->rows;
      if (cell->percent == "<1")
        ++table->traces;
      else
        table->percent += std::stoi(cell->percent);
    } else if (line.empty() && table) {
      if (const auto closed = Closed(*table); !closed) return closed;
      table.reset();
    }
  }
  return table ? Closed(*table) : testing::AssertionSuccess();
}

}  // namespace pipesim::tests
