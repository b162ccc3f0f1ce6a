#include "app/probe_planning.h"

#include <algorithm>

#include "base/memory.h"
#include "cost/memory_plan.h"
#include "diagnose/tried.h"
#include "measure/fit.h"
#include "predict/virtual_predictor.h"

namespace pipesim::app {
namespace {

/// Probes cost at most this share of the measured time, and this long (design section 5).
constexpr int kShareOfMeasured = 5;  // a fifth
constexpr base::Duration kLongest = std::chrono::seconds(10);

/// More batches at once must fit the memory that is free now.
bool Fits(const spec::Experiment& experiment, const spec::Loader& loader) {
  spec::Experiment with = experiment;
  with.loader = loader;
  const auto bound = base::Tightest(base::ReadMemoryBounds());
  return !bound || !cost::MemoryRefusal(with, *bound);
}

/// nullopt: the setting takes a run of its own.
std::optional<engine::LiveSetting> LiveFrom(const diagnose::Setting& setting,
                                            const diagnose::Variant& now,
                                            const spec::Experiment& experiment) {
  const diagnose::Settings after = setting.change(now).settings;
  const spec::Loader& loader = now.settings.loader;
  diagnose::Settings same = now.settings;
  same.loader.workers = after.loader.workers;
  same.loader.prefetch_factor = after.loader.prefetch_factor;
  if (!(same == after) || loader.workers == 0) return std::nullopt;
  const int workers = after.loader.workers, prefetch = after.loader.prefetch_factor;
  // With shared dispatch any worker takes the next batch.
  if (workers < 1 || (workers != loader.workers && loader.dispatch == spec::Dispatch::kShared))
    return std::nullopt;
  const std::int64_t window = after.loader.Window();
  if (window > engine::kRoomForProbes * loader.Window()) return std::nullopt;
  if (window > loader.Window() && !Fits(experiment, after.loader)) return std::nullopt;
  return engine::LiveSetting{setting.text, workers, prefetch};
}

}  // namespace

std::optional<engine::ProbePlan> PlanProbes(const trace::RunTrace& trace,
                                            const spec::Experiment& experiment,
                                            const cost::Pipeline& pipeline) {
  const measure::Measurement measurement = measure::Measure(trace, experiment, pipeline);
  if (!measurement.result.samples_per_s) return std::nullopt;
  engine::ProbePlan plan;
  plan.most_time =
      std::min(base::FromSeconds(measurement.result.measured_s / kShareOfMeasured), kLongest);
  const cost::Pipeline fitted = measure::Fit(trace, measurement, experiment, pipeline);
  const auto setting = diagnose::SettingToTry(
      experiment, fitted,
      predict::PredictInVirtualTime(experiment, fitted, measurement, nullptr));
  if (setting)
    plan.setting = LiveFrom(*setting, diagnose::VariantOf(experiment, fitted), experiment);
  return plan;
}

}  // namespace pipesim::app
