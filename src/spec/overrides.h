// Values from the command line put into the tree of the file, and the short forms that both may
// use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/node.h"
#include "spec/read.h"

namespace pipesim::spec {

/// Sets `change.path` in `root`. A short form on the way (`storage: hdd`) becomes the map it stands
/// for and is entered; at the path itself whatever was there is replaced.
void ApplyOverride(Node& root, const Override& change, std::vector<base::Problem>& problems);

/// The map that a one-word value at `path` stands for (`storage: hdd` is `{preset: hdd}`); any
/// other node as it is.
Node Expanded(std::string_view path, const Node& node);

}  // namespace pipesim::spec
