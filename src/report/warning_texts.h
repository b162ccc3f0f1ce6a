// Warnings in words: what was found, and the flag that helps.
#pragma once

#include <string>

#include "measure/warning.h"

namespace pipesim::report {

/// One or two sentences that a stranger understands.
std::string WarningText(const measure::Warning& warning);

}  // namespace pipesim::report
