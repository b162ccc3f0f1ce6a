#include "predict/points.h"

#include <mutex>

#include "base/error.h"
#include "engine/virtual_time/virtual_executor.h"
#include "predict/parallel.h"

namespace pipesim::predict {
namespace {

PointPrediction PredictPoint(const engine::VirtualExecutor& executor, VariantRuns& runs,
                             const spec::Experiment& experiment, const Basis& basis,
                             const base::StopFlag* stop) {
  try {
    return {JudgeOn(executor, runs, experiment, basis, stop), ""};
  } catch (const base::ConfigError& error) {
    const base::Problem& first = error.problems().front();
    return {std::nullopt, first.what + (first.suggestion.empty() ? "" : "; " + first.suggestion)};
  }
}

}  // namespace

void PredictPoints(std::size_t count,
                   const std::function<spec::Experiment(std::size_t)>& experiment,
                   const Basis& basis, const base::StopFlag* stop,
                   const std::function<void(std::size_t, const PointPrediction&)>& done) {
  // Of all points, which mostly draw the same costs and ask for the same what-ifs.
  const auto executor = engine::MakeVirtualExecutor();
  VariantRuns runs;
  std::mutex one_at_a_time;
  ForEach(count, [&](std::size_t i) {
    if (stop != nullptr && stop->IsSet()) return;
    const PointPrediction point = PredictPoint(*executor, runs, experiment(i), basis, stop);
    const std::lock_guard lock(one_at_a_time);
    done(i, point);
  });
}

}  // namespace pipesim::predict
