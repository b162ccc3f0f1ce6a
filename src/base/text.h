// Small text tools: nearest spelling, shell quoting, splitting.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::base {

/// The candidate nearest to `word` by edit distance (transpositions count one), or nullopt when none
/// is near enough to be a likely slip.
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates);

/// The word as a POSIX shell takes it back: quoted only when it must be.
std::string ShellQuote(std::string_view word);
std::string ShellJoin(std::span<const std::string> words);

std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts, std::string_view separator);
std::string_view Trim(std::string_view text);

/// Replaces control characters and invalid UTF-8, so that text from a file or the user is safe to
/// print.
std::string Printable(std::string_view text);

}  // namespace pipesim::base
