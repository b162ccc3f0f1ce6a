// Predictions on an executor of the caller's, so that several of them share its draws.
#pragma once

#include "engine/executor.h"
#include "predict/predict.h"

namespace pipesim::predict {

/// The same as Predict. `executor`: a virtual one; may be used from several threads at once.
Prediction PredictOn(engine::Executor& executor, const spec::Experiment& experiment,
                     const Basis& basis, const base::StopFlag* stop,
                     trace::RunTrace* kept = nullptr);

}  // namespace pipesim::predict
