// Writes an experiment as a file that ReadExperiment reads back.
#pragma once

#include <string>

#include "spec/experiment.h"

namespace pipesim::spec {

/// The settings that the user chose, by file or flag, as YAML. Defaults, models and presets are left
/// to the program that reads it.
std::string WriteExperiment(const Experiment& experiment);

}  // namespace pipesim::spec
