// The whole program behind main.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace pipesim::app {

/// Finds the command and calls it; turns every exception into a message and an exit code. `words`
/// is argv without the program's name.
base::ExitCode Main(const std::vector<std::string>& words);

}  // namespace pipesim::app
