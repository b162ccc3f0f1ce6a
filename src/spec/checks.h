// What is wrong with an experiment as a whole, though each of its values is good by itself.
#pragma once

#include "base/error.h"
#include "spec/experiment.h"
#include "spec/map_reader.h"
#include "spec/sections.h"

namespace pipesim::spec {

/// Sizes the model's last layer from the classes (or the classes from it) and checks that the
/// layers fit the samples.
void FitModel(Reading& reading, const ModelInput& input, Experiment& experiment);

/// Contradictions between sections are problems, pointless settings warnings.
void CheckWhole(Reading& reading, const Experiment& experiment);

/// What can be predicted and not run.
void CheckForRun(Reading& reading, const Experiment& experiment);

/// Outputs of the model's last layer; throws std::invalid_argument where the layers do not fit.
std::int64_t OutputsOf(const Model& model, const Shape& input);

}  // namespace pipesim::spec
