// Experiments answered in virtual time: what each part costs is resolved, then the virtual engine
// runs the pipeline, and the result is measured and diagnosed as of any run. Loads no LibTorch,
// prints nothing.
#pragma once

#include <vector>

#include "base/clock.h"
#include "diagnose/diagnosis.h"
#include "predict/resolve.h"

namespace pipesim::predict {

struct Prediction {
  measure::Measurement measurement;
  diagnose::Diagnosis diagnosis;
  std::vector<measure::Result> repeats;  ///< each repeat's own result, when there were several
  Notes notes;
};

/// run.repeats times with seeds seed, seed + 1, ... side by side on all cores: the repeat of median
/// throughput. The same for the same experiment and basis, on any number of threads and any machine.
/// Throws base::ConfigError for a part that has no cost, with the remedy.
Prediction Predict(const spec::Experiment& experiment, const Basis& basis,
                   const base::StopFlag* stop);

}  // namespace pipesim::predict
