// A machine profile as people read it: figures with their scatter, steps as a table.
#pragma once

#include <string>

#include "spec/machine_profile.h"

namespace pipesim::report {

/// 80 columns; `file`: where it was written.
std::string ProfileText(const spec::MachineProfile& profile, const std::string& file);

}  // namespace pipesim::report
