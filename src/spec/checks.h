// Checks across sections: values that are valid one by one and wrong together.
#pragma once

#include "base/error.h"
#include "spec/experiment.h"
#include "spec/map_reader.h"
#include "spec/sections.h"

namespace pipesim::spec {

/// Sets the model's outputs from the data set's classes, or the classes from the outputs, and
/// checks that the layers fit the samples.
void FitModel(Reading& reading, const ModelInput& input, Experiment& experiment);

/// Contradictions between sections are problems; settings without effect are warnings.
void CheckWhole(Reading& reading, const Experiment& experiment);

/// Reports settings that can be predicted but not run.
void CheckForRun(Reading& reading, const Experiment& experiment);

/// Reports a folder of real files that is not on this machine.
void CheckFilesHere(Reading& reading, const Storage& storage);

/// Outputs of the model's last layer. Throws std::invalid_argument where the layers do not fit.
std::int64_t OutputsOf(const Model& model, const Shape& input);

}  // namespace pipesim::spec
