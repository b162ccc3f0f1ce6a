// Applies command-line values to the file's tree, and expands the short forms of both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/node.h"
#include "spec/read.h"

namespace pipesim::spec {

/// Sets `change.path` in `root`. A short form above that path (`storage: hdd`) is expanded to its
/// map first; a value at the path itself is replaced.
void ApplyOverride(Node& root, const Override& change, std::vector<base::Problem>& problems);

/// Expands a one-word value at `path` to its map (`storage: hdd` to `{preset: hdd}`); returns any
/// other node unchanged.
Node Expanded(std::string_view path, const Node& node);

}  // namespace pipesim::spec
