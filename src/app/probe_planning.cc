#include "app/probe_planning.h"

#include <algorithm>

#include "base/memory.h"
#include "cost/memory_plan.h"
#include "diagnose/settings.h"
#include "diagnose/what_if.h"

namespace pipesim::app {
namespace {

using diagnose::WhatIf;

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

/// Whether the row changes nothing but what a running pipeline can change. Only a CPU that trains
/// has compute threads to change.
bool ChangesOnlyLiveSettings(const WhatIf& row, const measure::Measurement& measurement) {
  const bool trains_on_cpu = !measurement.effective.device_asynchronous;
  return !row.set.empty() && std::all_of(row.set.begin(), row.set.end(), [&](const auto& one) {
    return one.first == "loader.workers" || one.first == "loader.prefetch_factor" ||
           (one.first == "limits.compute_threads" && trains_on_cpu);
  });
}

bool LoaderCanChange(const spec::Experiment& experiment, const spec::Loader& after) {
  const spec::Loader& loader = experiment.loader;
  if (after.workers == loader.workers && after.prefetch_factor == loader.prefetch_factor)
    return true;
  if (loader.workers == 0 || after.workers < 1) return false;
  // With shared dispatch any worker takes the next batch.
  if (after.workers != loader.workers && loader.dispatch == spec::Dispatch::kShared) return false;
  if (after.Window() > engine::kRoomForProbes * loader.Window()) return false;
  return after.Window() <= loader.Window() || Fits(experiment, after);
}

/// After the change training takes longer than loading, as predicted.
bool TrainingLimits(const WhatIf& row) {
  using diagnose::Verdict;
  return row.then == Verdict::kComputeBound || row.then == Verdict::kCpuContention;
}

/// nullopt: the row takes a run of its own, at least in a part.
std::optional<engine::LiveSetting> LiveFrom(const WhatIf& row, const spec::Experiment& experiment,
                                            const measure::Measurement& measurement) {
  if (!ChangesOnlyLiveSettings(row, measurement) ||
      !LoaderCanChange(experiment, row.after.loader))
    return std::nullopt;
  return engine::LiveSetting{.change = row.change,
                             .workers = row.after.loader.workers,
                             .prefetch_factor = row.after.loader.prefetch_factor,
                             .compute_threads = diagnose::SetsPath(row.set, "limits.compute_threads")
                                                    ? row.after.limits.compute_threads.value_or(0)
                                                    : 0,
                             .expected_gain = row.gain,
                             .waits = !TrainingLimits(row)};
}

/// Fewer compute threads where more threads than cores ran (only there the step was repeated on one):
/// no prediction is less certain than that of a pool that lacks cores.
bool IsUncertain(const WhatIf& row, const measure::Measurement& measurement) {
  return row.set.size() == 1 && diagnose::SetsPath(row.set, "limits.compute_threads") &&
         measurement.effective.step_on_one_thread.has_value();
}

/// The recommendation; else the row that promises most, if that counts or if it is uncertain. Where
/// nothing is decided, the best row whatever it promises: what it gains may decide.
std::optional<engine::LiveSetting> SettingToTry(const spec::Experiment& experiment,
                                                const measure::Measurement& measurement,
                                                const diagnose::Diagnosis& diagnosis) {
  const auto& recommended = diagnosis.recommendation;
  if (recommended && !recommended->set.empty()) {
    for (const WhatIf& row : diagnosis.what_if) {
      if (row.set != recommended->set) continue;
      if (auto live = LiveFrom(row, experiment, measurement)) return live;
    }
  }
  const bool open = diagnosis.bottleneck == diagnose::Verdict::kInconclusive;
  const double least = diagnose::Thresholds{}.gain_that_counts;
  for (const WhatIf& row : diagnosis.what_if) {
    if (!diagnose::CanBeMade(row)) continue;
    if (!open && row.gain < least && !IsUncertain(row, measurement)) continue;
    if (auto live = LiveFrom(row, experiment, measurement)) return live;
  }
  return std::nullopt;
}

}  // namespace

std::optional<engine::ProbePlan> PlanProbes(const spec::Experiment& experiment,
                                            const measure::Measurement& measurement,
                                            const diagnose::Diagnosis& diagnosis) {
  const measure::Result& result = measurement.result;
  if (!result.samples_per_s) return std::nullopt;
  engine::ProbePlan plan{
      .most_time = std::min(base::FromSeconds(result.measured_s / kShareOfMeasured), kLongest),
      .setting = SettingToTry(experiment, measurement, diagnosis),
      .step_s = std::nullopt};
  if (result.step_time && result.step_time->mean_s > 0) plan.step_s = result.step_time->mean_s;
  return plan;
}

}  // namespace pipesim::app
