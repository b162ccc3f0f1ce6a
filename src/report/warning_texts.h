// Warnings in words: what was found, and the flag that helps.
#pragma once

#include <span>
#include <string>

#include "measure/warning.h"

namespace pipesim::report {

/// One or two sentences that a stranger understands.
std::string WarningText(const measure::Warning& warning);

/// The same for the warning of bad samples, which are met again every epoch. `met`: the first ones.
std::string BadSamplesText(const measure::warnings::BadSamples& warning,
                           std::span<const trace::DataFault> met);

}  // namespace pipesim::report
