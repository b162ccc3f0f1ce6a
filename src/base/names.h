// Names as users type them: case is forgiven where it leaves one meaning. Units are no names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pipesim::base {

/// ASCII letters in lower case.
std::string LowerCase(std::string_view text);

/// The index of `word` among `names`: the exact one, else the only one that differs in case alone.
std::optional<std::size_t> FindName(std::string_view word, std::span<const std::string> names);

}  // namespace pipesim::base
