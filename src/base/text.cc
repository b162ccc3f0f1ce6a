#include "base/text.h"

#include <algorithm>
#include <array>

#include "base/names.h"

namespace pipesim::base {
namespace {

// Optimal string alignment distance: insert, delete, replace and swapping neighbours cost one each,
// another case nothing.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

bool IsShellSafe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,+@%^").find(c) != std::string_view::npos;
}

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool IsIn(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [code](Range r) { return r.first <= code && code <= r.last; });
}

constexpr std::array<Range, 6> kZeroWidth = {{{0x0300, 0x036F},
                                              {0x1AB0, 0x1AFF},
                                              {0x200B, 0x200F},
                                              {0x20D0, 0x20FF},
                                              {0xFE00, 0xFE0F},
                                              {0xFE20, 0xFE2F}}};
constexpr std::array<Range, 10> kWide = {{{0x1100, 0x115F},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
// C0, DEL and C1; line and paragraph separators; bidirectional controls.
constexpr std::array<Range, 6> kUnprintable = {{{0x0000, 0x001F},
                                                {0x007F, 0x009F},
                                                {0x200E, 0x200F},
                                                {0x2028, 0x202E},
                                                {0x2066, 0x2069},
                                                {0xFFFE, 0xFFFF}}};

}  // namespace

std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::pair<std::size_t, std::size_t> least;  // the distance, then all edits: "worker" is nearer to "workers"
  const std::string lower = LowerCase(word);
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t edits = EditDistance(lower, LowerCase(candidate));
    std::size_t distance = edits;
    // Accepts one edit per three letters. A stem of at least three letters counts as one edit
    // ("batch" for "batch_size").
    if (word.size() >= 3 && candidate.starts_with(word))
      distance = std::min<std::size_t>(1, distance);
    if (distance > std::max<std::size_t>(1, longer / 3) || distance >= longer) continue;
    if (best == nullptr || std::pair(distance, edits) < least) {
      best = &candidate;
      least = {distance, edits};
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string ShellQuote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsShellSafe)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ShellJoin(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (&word != words.data()) line += ' ';
    line += ShellQuote(word);
  }
  return line;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string Printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = FirstChar(text);
    if (c.valid && !IsIn(kUnprintable, c.code)) {
      result += text.substr(0, c.size);
    } else {
      result += "\uFFFD";
    }
    text.remove_prefix(c.size);
  }
  return result;
}

Utf8Char FirstChar(std::string_view text) {
  constexpr Utf8Char kInvalid{0xFFFD, 1, false};
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return kInvalid;
  char32_t code = lead & (0x7F >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return kInvalid;
    code = code << 6 | (byte & 0x3F);
  }
  // Overlong forms, surrogates, code points beyond Unicode.
  const char32_t least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
  if (code < least || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return kInvalid;
  return {code, size, true};
}

std::optional<std::size_t> FirstUnreadableByte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = FirstChar(text.substr(at));
    const bool space = c.code == '\t' || c.code == '\n' || c.code == '\r';
    if (!c.valid || (c.code < 0x20 && !space) || c.code == 0x7F) return at;
    at += c.size;
  }
  return std::nullopt;
}

int CountCharacters(std::string_view text) {
  int count = 0;
  for (; !text.empty(); text.remove_prefix(FirstChar(text).size)) ++count;
  return count;
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const bool cut = text.size() > kLongest;
  return "'" + Printable(text.substr(0, kLongest)) + (cut ? "..." : "") + "'";
}

int DisplayWidth(char32_t code) {
  if (code < 0x300) return 1;
  if (IsIn(kZeroWidth, code)) return 0;
  return IsIn(kWide, code) ? 2 : 1;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Char c = FirstChar(text);
    width += static_cast<std::size_t>(DisplayWidth(c.code));
    text.remove_prefix(c.size);
  }
  return width;
}

}  // namespace pipesim::base
