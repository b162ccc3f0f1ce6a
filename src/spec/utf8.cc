#include "spec/utf8.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pipesim::spec {
namespace {

unsigned ByteAt(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

bool Between(unsigned value, unsigned low, unsigned high) { return value >= low && value <= high; }

/// Bytes of the well-formed sequence that begins at `i`, or 0.
std::size_t SequenceLength(std::string_view text, std::size_t i) {
  const unsigned lead = ByteAt(text, i);
  const unsigned second = ByteAt(text, i + 1);
  if (lead < 0x80) return 1;
  if (Between(lead, 0xC2, 0xDF)) return Between(second, 0x80, 0xBF) ? 2 : 0;
  if (!Between(ByteAt(text, i + 2), 0x80, 0xBF)) return 0;
  if (Between(lead, 0xE0, 0xEF)) {
    // No overlong forms (E0 80..9F) and no surrogates (ED A0..BF).
    return Between(second, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) ? 3 : 0;
  }
  if (!Between(lead, 0xF0, 0xF4) || !Between(ByteAt(text, i + 3), 0x80, 0xBF)) return 0;
  return Between(second, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) ? 4 : 0;
}

}  // namespace

std::optional<std::size_t> FirstUnreadableByte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const unsigned byte = ByteAt(text, i);
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    const std::size_t length = SequenceLength(text, i);
    if (control || length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

int CountCharacters(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string Quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return fmt::format("'{}{}'", base::Printable(text.substr(0, kLongest)),
                     text.size() > kLongest ? "..." : "");
}

}  // namespace pipesim::spec
