// Lines of the report: 80 columns, wrapped at words, coloured as a whole or not at all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::report {

inline constexpr std::size_t kColumns = 80;

/// `text` in lines of at most `columns`; lines after the first begin with `indent`. Breaks at
/// spaces, never between a number and '%' or a unit in capitals; a word longer than a line is cut.
std::vector<std::string> Wrap(std::string_view text, std::size_t columns, std::string_view indent);

/// `text` and spaces up to `columns`.
std::string PadRight(std::string_view text, std::size_t columns);
/// Spaces before `text` up to `columns`.
std::string PadLeft(std::string_view text, std::size_t columns);

enum class Style { kPlain, kStrong, kGood, kAttention, kBad };

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}
  /// A line, or several where it is too long; `indent` before each but the first.
  void Add(std::string_view text, Style style = Style::kPlain, std::string_view indent = "  ");
  /// A command stands alone on its line, however long, so that a triple click copies it.
  void AddCommand(std::string_view command);
  void AddBlank();  ///< at most one in a row
  /// All lines, each ended by a newline.
  std::string Take();

 private:
  bool colour_;
  bool blank_ = true;
  std::string text_;
};

}  // namespace pipesim::report
