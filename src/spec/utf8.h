// Telling text from binary data, and counting characters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pipesim::spec {

/// The first byte that is not valid UTF-8 or is a control character other than tab, newline and
/// carriage return. Follows Unicode 15, table 3-7 (well-formed byte sequences).
std::optional<std::size_t> FirstUnreadableByte(std::string_view text);

/// The number of characters (code points) in UTF-8 text.
int CountCharacters(std::string_view text);

/// The text in single quotes, printable, cut after 60 bytes: for messages.
std::string Quoted(std::string_view text);

}  // namespace pipesim::spec
