// Predicts many experiments at once: the points of a sweep. What they share is computed here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "predict/judge.h"

namespace pipesim::predict {

struct PointPrediction {
  std::optional<JudgedPrediction> prediction;
  std::string failure;  ///< why there is none: a part of unknown cost
};

/// Predicts the experiments 0 ... count - 1 on all cores. `experiment` is called from any thread,
/// `done` by one thread at a time, in any order. Every prediction is the one that Predict makes,
/// with no more than the verdict of its diagnosis. Once `stop` is set, no further one begins. What `experiment` or `done` throws ends the whole.
void PredictPoints(std::size_t count,
                   const std::function<spec::Experiment(std::size_t)>& experiment,
                   const Basis& basis, const base::StopFlag* stop,
                   const std::function<void(std::size_t, const PointPrediction&)>& done);

}  // namespace pipesim::predict
