// What an experiment's parts cost in a prediction: from the experiment, the measured run, the
// profile, in this order. One place decides; engines only spend.
#pragma once

#include <string>
#include <vector>

#include "cost/pipeline.h"
#include "measure/measurement.h"
#include "predict/basis.h"

namespace pipesim::predict {

/// Which basis the figures have, for the report.
struct Notes {
  std::string profile;         ///< the machine profile: a name or a path
  std::string profile_source;  ///< whose figures it holds
  std::string from;            ///< the report whose measured demands were used; empty: none
  double cores = 0;
  std::string cores_from;  ///< "limits.cpus", "this machine", ...
  cost::Source step = cost::Source::kStated;
};

struct Resolved {
  cost::Pipeline pipeline;
  spec::Device device;  ///< chosen where the experiment leaves it open
  Notes notes;
  std::vector<measure::Warning> warnings;
};

/// Throws base::ConfigError for what has no cost, with the remedy.
Resolved Resolve(const spec::Experiment& experiment, const Basis& basis);

}  // namespace pipesim::predict
