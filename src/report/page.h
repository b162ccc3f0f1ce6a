// Lines of the report: wrapped at words to 80 columns, one colour per line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::report {

inline constexpr std::size_t kColumns = 80;

/// The beginning of `text` that fits into `columns`, in whole characters.
std::string_view FirstColumns(std::string_view text, std::size_t columns);
/// Wraps `text` to `columns`; lines after the first begin with `indent`. Breaks at spaces, but not
/// between a number and '%' or a capitalized unit; cuts words longer than a line.
std::vector<std::string> Wrap(std::string_view text, std::size_t columns, std::string_view indent);

/// Pads `text` on the right to `columns`.
std::string PadRight(std::string_view text, std::size_t columns);
/// Pads `text` on the left to `columns`.
std::string PadLeft(std::string_view text, std::size_t columns);

enum class Style { kPlain, kStrong, kGood, kAttention, kBad };

/// A line as it was added, before it is wrapped.
struct PageLine {
  std::string text;
  Style style = Style::kPlain;
  std::string indent = {};
  bool command = false;
};

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}
  /// Adds a line, wrapped if too long; `indent` precedes continuation lines.
  void Add(std::string_view text, Style style = Style::kPlain, std::string_view indent = "  ");
  /// Adds a command on its own line, never wrapped, so that a triple click copies it.
  void AddCommand(std::string_view command);
  void AddBlank();  ///< at most one in a row
  /// For views that are not a terminal's. A blank line has no text.
  const std::vector<PageLine>& lines() const { return lines_; }
  /// All lines, wrapped, each with a newline.
  std::string Take();

 private:
  bool colour_;
  std::vector<PageLine> lines_;
};

}  // namespace pipesim::report
