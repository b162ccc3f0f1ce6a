// Resolves the costs of a prediction: from the experiment, the measured run, the profile, in this
// order. All such decisions are made here.
#pragma once

#include <string>
#include <vector>

#include "cost/pipeline.h"
#include "measure/measurement.h"
#include "predict/basis.h"

namespace pipesim::predict {

/// The sources of the figures, for the report.
struct Notes {
  std::string profile;         ///< the machine profile: a name or a path
  std::string profile_source;  ///< the machine of its figures
  std::string from;            ///< the report whose measured demands were used; empty: none
  double cores = 0;
  std::string cores_from;  ///< "limits.cpus", "this machine", ...
  cost::Source step = cost::Source::kStated;
  struct Epochs {
    std::int64_t steps = 0, simulated = 0;
  };
  std::optional<Epochs> shortened;  ///< by ShortenEpochs
};

struct Resolved {
  cost::Pipeline pipeline;
  spec::Device device;  ///< chosen where the experiment leaves it open
  int compute_threads = 0;  ///< of a CPU that trains: as many as the step was measured on, or fewer
  Notes notes;
  std::vector<measure::Warning> warnings;
};

/// The memory that a run would have: this machine's, or a named profile's.
std::optional<base::MemoryBound> MemoryBoundOf(const Basis& basis);

/// Throws base::ConfigError, with the remedy, for a part of unknown cost.
Resolved Resolve(const spec::Experiment& experiment, const Basis& basis);

}  // namespace pipesim::predict
