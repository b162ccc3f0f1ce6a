// Predicts an experiment in virtual time: resolves the cost of each part, runs the pipeline in the
// virtual engine, and measures and diagnoses the result like any run. Loads no LibTorch, prints
// nothing.
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
/// throughput. Deterministic for an experiment and a basis, on any number of threads and any
/// machine. Throws base::ConfigError, with the remedy, for a part of unknown cost. `kept`: where
/// the trace of the first repeat goes, with its spans.
Prediction Predict(const spec::Experiment& experiment, const Basis& basis,
                   const base::StopFlag* stop, trace::RunTrace* kept = nullptr);

/// The same without a diagnosis: for searches, which need the rates of many experiments.
Prediction PredictRates(const spec::Experiment& experiment, const Basis& basis,
                        const base::StopFlag* stop);

}  // namespace pipesim::predict
