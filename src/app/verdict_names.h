// Verdicts as users name them: other words for them, and any case.
#pragma once

#include <string>

#include "diagnose/verdicts.h"

namespace pipesim::app {

/// nullptr: there is none of that name.
const diagnose::VerdictRow* FindVerdictAsTyped(const std::string& name);

/// "did you mean compute-bound?", or "" where no verdict comes near.
std::string VerdictMeant(const std::string& name);

}  // namespace pipesim::app
