// A prediction with no more than its verdict, on an executor of the caller's, so that many share draws and the
// runs of what-ifs.
#pragma once

#include "engine/virtual_time/virtual_executor.h"
#include "predict/predict.h"
#include "predict/variant_runs.h"

namespace pipesim::predict {

struct JudgedPrediction {
  measure::Measurement measurement;
  diagnose::Judgement judgement;
};

/// The verdict is that of Predict, and so is the measurement as far as it goes
/// (measure::MeasureForVerdict). `executor` and `runs` may be used from several threads at once.
JudgedPrediction JudgeOn(const engine::VirtualExecutor& executor, VariantRuns& runs,
                         const spec::Experiment& experiment, const Basis& basis,
                         const base::StopFlag* stop);

}  // namespace pipesim::predict
