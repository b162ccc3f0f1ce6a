// Reads --observed: what the user sees on the real system.
#pragma once

#include "app/command_line/arguments.h"
#include "diagnose/observed.h"

namespace pipesim::app {

/// All --observed flags together; a later figure wins. Throws base::UsageError that names the figure
/// and, for a typo, the nearest one.
diagnose::Observed ReadObserved(const Arguments& arguments);

}  // namespace pipesim::app
