// --prove: runs the recommended command for real, in turn with the command that was typed.
#pragma once

#include "app/command_line/arguments.h"
#include "app/process/handover.h"

namespace pipesim::app {

/// Adds the section "proof" to the document of a finished run, which is the first of the pairs.
/// Each further run is a process of its own. A stop signal ends the series; the pairs finished so
/// far count. Without a recommended command and its gain there is nothing to prove, and a note
/// says so.
void Prove(const Arguments& arguments, Outcome& outcome);

}  // namespace pipesim::app
