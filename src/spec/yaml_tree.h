// Parses YAML into a tree of texts with places. Accepts one document of maps, sequences and
// scalars; no anchors, aliases, tags or keys other than words. Size and depth are limited, so that
// a hostile file cannot cost much time or memory.
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

/// Parses a file's text. Appends every problem (not UTF-8, bad YAML, duplicate keys, ...) and then
/// returns a partial tree. An empty text gives a null node.
Node ParseYaml(std::string_view text, const std::string& source_name, Origin origin,
               std::vector<base::Problem>& problems);

/// The same for a value on the command line, which starts at `column` (from 1) of the only line of
/// `source`.
Node ParseYamlValue(std::string_view text, std::shared_ptr<const Source> source, int column,
                    Origin origin, std::vector<base::Problem>& problems);

/// The text as one YAML scalar: plain where possible, else double-quoted.
std::string QuoteYaml(std::string_view text);

}  // namespace pipesim::spec
