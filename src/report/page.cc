#include "report/page.h"

#include <algorithm>

#include "base/text.h"

namespace pipesim::report {
namespace {

/// The bytes of `text` that fit into `columns`, in whole characters.
std::size_t BytesThatFit(std::string_view text, std::size_t columns) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const base::Utf8Char character = base::FirstChar(text.substr(at));
    used += static_cast<std::size_t>(base::DisplayWidth(character.code));
    if (used > columns) return at;
    at += character.size;
  }
  return at;
}

/// Where to break a line that may hold `fit` bytes of `text`: at the last space that does not
/// precede a unit (a per cent sign or a capital), else within the word.
std::size_t BreakAt(std::string_view text, std::size_t fit) {
  for (std::size_t space = text.rfind(' ', fit); space != std::string_view::npos && space > 0;
       space = text.rfind(' ', space - 1)) {
    const char before = text[space - 1], after = space + 1 < text.size() ? text[space + 1] : ' ';
    const bool before_unit =
        before >= '0' && before <= '9' && (after == '%' || (after >= 'A' && after <= 'Z'));
    const bool leading = text.find_first_not_of(' ') > space;
    if (!before_unit && !leading) return space;
  }
  return fit;
}

std::string_view Ansi(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kStrong:
      return "\x1b[1m";
    case Style::kGood:
      return "\x1b[1;32m";
    case Style::kAttention:
      return "\x1b[1;33m";
    case Style::kBad:
      return "\x1b[1;31m";
  }
  return "";
}

}  // namespace

std::string_view FirstColumns(std::string_view text, std::size_t columns) {
  return text.substr(0, BytesThatFit(text, columns));
}

std::vector<std::string> Wrap(std::string_view text, std::size_t columns, std::string_view indent) {
  std::vector<std::string> lines;
  std::string prefix;
  while (!text.empty() && base::DisplayWidth(text) + prefix.size() > columns) {
    // One character at least, however little room there is.
    const std::size_t room = columns > prefix.size() ? columns - prefix.size() : 0;
    const std::size_t fit = std::max(BytesThatFit(text, room), base::FirstChar(text).size);
    const std::size_t end = BreakAt(text, fit);
    std::string_view line = text.substr(0, end);
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    lines.push_back(prefix + std::string(line));
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    prefix = indent;
  }
  if (!text.empty() || lines.empty()) lines.push_back(prefix + std::string(text));
  return lines;
}

std::string PadRight(std::string_view text, std::size_t columns) {
  const std::size_t width = base::DisplayWidth(text);
  return std::string(text) + std::string(width < columns ? columns - width : 0, ' ');
}

std::string PadLeft(std::string_view text, std::size_t columns) {
  const std::size_t width = base::DisplayWidth(text);
  return std::string(width < columns ? columns - width : 0, ' ') + std::string(text);
}

void Page::Add(std::string_view text, Style style, std::string_view indent) {
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  lines_.push_back({std::string(text), style, std::string(indent)});
}

void Page::AddCommand(std::string_view command) {
  lines_.push_back({.text = std::string(command), .command = true});
}

void Page::AddBlank() {
  const bool blank = lines_.empty() || (lines_.back().text.empty() && !lines_.back().command);
  if (!blank) lines_.emplace_back();
}

std::string Page::Take() {
  std::string text;
  for (const PageLine& each : lines_) {
    if (each.command) {
      text += "  " + each.text + '\n';
      continue;
    }
    const bool paint = colour_ && each.style != Style::kPlain;
    for (const std::string& line : Wrap(each.text, kColumns, each.indent)) {
      if (paint) text += Ansi(each.style);
      text += line;
      if (paint) text += "\x1b[0m";
      text += '\n';
    }
  }
  lines_.clear();
  return text;
}

}  // namespace pipesim::report
