// Small text tools: nearest spelling, shell quoting, splitting, UTF-8 as a terminal shows it.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::base {

/// The candidate nearest to `word` by edit distance (a transposition counts as one edit), or
/// nullopt when none is close enough to be a likely typo.
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates);

/// Quotes `word` for a POSIX shell, only where needed.
std::string ShellQuote(std::string_view word);
std::string ShellJoin(std::span<const std::string> words);

std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts, std::string_view separator);
std::string_view Trim(std::string_view text);

/// All of `text` as a whole number; nullopt for other text and for numbers out of range.
template <class Whole>
std::optional<Whole> WholeNumber(std::string_view text) {
  Whole number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

/// Replaces control characters and invalid UTF-8, so that text from a file or the user is safe to
/// print.
std::string Printable(std::string_view text);

/// The first UTF-8 character of `text` (not empty). An invalid byte counts as one character.
/// Follows Unicode 15, table 3-7 (well-formed byte sequences).
struct Utf8Char {
  char32_t code = 0;     ///< U+FFFD when invalid
  std::size_t size = 1;  ///< bytes
  bool valid = false;
};
Utf8Char FirstChar(std::string_view text);

/// The first byte that is not valid UTF-8 or is a control character other than tab, newline and
/// carriage return.
std::optional<std::size_t> FirstUnreadableByte(std::string_view text);

/// The number of characters (code points).
int CountCharacters(std::string_view text);

/// The text in single quotes, printable, cut after 60 bytes: for messages.
std::string Quoted(std::string_view text);

/// Terminal columns of the character: 0 (combining), 1 or 2 (East Asian wide).
/// Source: the ranges of Markus Kuhn's wcwidth, shortened to whole blocks.
int DisplayWidth(char32_t code);
std::size_t DisplayWidth(std::string_view text);

}  // namespace pipesim::base
