// The experiment as a table of settings with their origin: --dry-run and validate print it.
#pragma once

#include <string>

#include "spec/experiment.h"

namespace pipesim::app {

std::string SettingsText(const spec::Experiment& experiment);
/// Every key of the experiment file: type, default, meaning.
std::string KeysText();

}  // namespace pipesim::app
