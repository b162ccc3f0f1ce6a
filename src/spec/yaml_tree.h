// YAML text into a tree of texts with places. One document of plain maps, sequences and scalars: no
// anchors, aliases, tags or keys that are not words. Bounded before and while it is parsed, so that
// a hostile file costs neither time nor memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/node.h"

namespace pipesim::spec {

inline constexpr std::size_t kLargestFileBytes = 1 << 20;
inline constexpr int kDeepestNesting = 32;
inline constexpr std::size_t kMostNodes = 100'000;

/// Reads a file's text. Problems found are appended (not UTF-8, bad YAML, duplicate keys, ...); the
/// tree is then as far as it came, and null when the text holds nothing.
Node ParseYaml(std::string_view text, const std::string& source_name, Origin origin,
               std::vector<base::Problem>& problems);

/// The same for a value on the command line, which starts at `column` (from 1) of the only line of
/// `source`.
Node ParseYamlValue(std::string_view text, std::shared_ptr<const Source> source, int column,
                    Origin origin, std::vector<base::Problem>& problems);

/// The text as one YAML scalar: plain where it can be, else double-quoted.
std::string QuoteYaml(std::string_view text);

}  // namespace pipesim::spec
