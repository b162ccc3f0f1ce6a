// What an experiment's parts cost in a prediction: from the experiment, the measured run, the
// profile, in this order. One place decides; the engine only spends.
#pragma once

#include <vector>

#include "app/prediction.h"
#include "engine/virtual_time/virtual_executor.h"

namespace pipesim::app {

struct PredictionCosts {
  /// What is run in virtual time: the experiment with its device chosen, real files and decoding in
  /// terms of what they cost.
  spec::Experiment executed;
  engine::VirtualParts parts;
  report::Prediction notes;
  std::vector<measure::Warning> warnings;
};

/// Throws base::ConfigError for what has no cost.
PredictionCosts CostsOf(const spec::Experiment& experiment, const Basis& basis);

}  // namespace pipesim::app
