// A prediction with no more than its verdict, on an executor of the caller's, so that many share draws.
#pragma once

#include "engine/virtual_time/virtual_executor.h"
#include "predict/predict.h"

namespace pipesim::predict {

struct JudgedPrediction {
  measure::Measurement measurement;
  diagnose::Judgement judgement;
};

/// The verdict is that of Predict, and so is the measurement as far as it goes
/// (measure::MeasureForVerdict). `executor` may be used from several threads at once.
JudgedPrediction JudgeOn(engine::VirtualExecutor& executor, const spec::Experiment& experiment,
                         const Basis& basis, const base::StopFlag* stop);

}  // namespace pipesim::predict
