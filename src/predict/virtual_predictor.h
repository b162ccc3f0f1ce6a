// Predicts what-ifs by running the changed pipeline in virtual time. Unlike bounds on means, this
// includes variation, order, prefetch and contention.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cost/pipeline.h"
#include "diagnose/diagnosis.h"
#include "engine/virtual_time/virtual_executor.h"
#include "predict/variant_runs.h"

namespace pipesim::predict {

/// What a predictor shares with others.
struct Shared {
  /// Its own; one that shares draws with the run's spares them here.
  std::unique_ptr<engine::VirtualExecutor> executor = engine::MakeVirtualExecutor();
  /// The trace of the run itself, where virtual time made it with the experiment's seed: its first steps
  /// are not run again.
  const trace::RunTrace* run = nullptr;
  VariantRuns* runs = nullptr;  ///< of other predictors, too
};

/// Predictor for the diagnosis of a real or predicted run with the costs `pipeline` and the result
/// `measurement`. Runs each variant once, with enough steps to tell a gain from noise, but no more
/// than one or two seconds allow for the whole diagnosis; after that, or once `stop` is set, it
/// answers with the variant's bound, in proportion to the run's own. Infinite where the bounds are.
/// Not thread-safe; several may be used side by side. Whatever it shares outlives the predictor and changes
/// no answer.
diagnose::Predictor PredictInVirtualTime(const spec::Experiment& experiment,
                                         const cost::Pipeline& pipeline,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop, Shared shared = {});

}  // namespace pipesim::predict
