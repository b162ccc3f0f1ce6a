#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace pipesim::base {
namespace {

// Longer source lines are cut to this many columns around the caret.
constexpr std::size_t kWindow = 80;
constexpr std::size_t kTabColumns = 4;
constexpr std::string_view kCut = "...";

struct Cell {
  std::string text;
  std::size_t width = 0;
};

// The line as displayed: one cell per character.
std::vector<Cell> CellsOf(std::string_view line) {
  std::vector<Cell> cells;
  while (!line.empty() && line != "\n" && line != "\r\n") {
    const Utf8Char c = FirstChar(line);
    if (c.code == '\t') {
      cells.push_back({std::string(kTabColumns, ' '), kTabColumns});
    } else {
      const std::string shown = Printable(line.substr(0, c.size));
      cells.push_back({shown, DisplayWidth(shown)});
    }
    line.remove_prefix(c.size);
  }
  return cells;
}

std::size_t WidthOf(const std::vector<Cell>& cells, std::size_t first, std::size_t last) {
  std::size_t width = 0;
  for (std::size_t i = first; i < last; ++i) width += cells[i].width;
  return width;
}

// The cells [first, last) to show: all, or a window with the caret near its middle.
std::pair<std::size_t, std::size_t> WindowOf(const std::vector<Cell>& cells, std::size_t caret) {
  if (WidthOf(cells, 0, cells.size()) <= kWindow) return {0, cells.size()};
  const std::size_t room = kWindow - 2 * kCut.size();
  std::size_t first = std::min(caret, cells.size()), last = first, width = 0;
  while (first > 0 && width + cells[first - 1].width <= room / 2) width += cells[--first].width;
  while (last < cells.size() && width + cells[last].width <= room) width += cells[last++].width;
  while (first > 0 && width + cells[first - 1].width <= room) width += cells[--first].width;
  return {first, last};
}

std::string SourceWithCaret(const Problem& problem) {
  const std::vector<Cell> cells = CellsOf(problem.source_line);
  const std::size_t caret =
      std::min(static_cast<std::size_t>(std::max(problem.column, 1) - 1), cells.size());
  const auto [first, last] = WindowOf(cells, caret);
  const std::string_view before = first > 0 ? kCut : std::string_view();
  std::string text(before);
  for (std::size_t i = first; i < last; ++i) text += cells[i].text;
  if (last < cells.size()) text += kCut;
  if (problem.column < 1) return text + '\n';
  const std::size_t end =
      std::clamp(caret + static_cast<std::size_t>(std::max(problem.width, 1)), caret, last);
  const std::size_t underlined = std::max<std::size_t>(WidthOf(cells, caret, end), 1);
  return fmt::format("{}\n{:{}}^{:~<{}}\n", text, "", before.size() + WidthOf(cells, first, caret),
                     "", underlined - 1);
}

std::string Format(const Problem& problem) {
  std::string text = Printable(problem.source);
  if (problem.line > 0) text += fmt::format(":{}", problem.line);
  if (problem.line > 0 && problem.column > 0) text += fmt::format(":{}", problem.column);
  // They quote what the user wrote.
  text += fmt::format(": error: {}\n", Printable(problem.what));
  if (!problem.source_line.empty()) text += SourceWithCaret(problem);
  if (!problem.suggestion.empty())
    text += fmt::format("  suggestion: {}\n", Printable(problem.suggestion));
  return text;
}

}  // namespace

ConfigError::ConfigError(std::vector<Problem> problems)
    : std::runtime_error(FormatProblems(problems)), problems_(std::move(problems)) {}

std::string FormatProblems(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += Format(problem);
  return text;
}

}  // namespace pipesim::base
