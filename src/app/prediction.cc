#include "app/prediction.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>

#include "app/prediction_costs.h"
#include "app/repeats.h"
#include "app/session.h"
#include "app/virtual_predictor.h"
#include "cost/memory_plan.h"

namespace pipesim::app {
namespace {

using spec::DeviceKind;
using spec::Experiment;

/// The memory that a run of it would have.
std::optional<base::MemoryBound> MemoryBoundOf(const Basis& basis) {
  if (!basis.profile_is_named) return base::Tightest(basis.memory_here);
  const auto& memory = basis.profile.figures.memory;
  if (!memory) return std::nullopt;
  base::MemoryBound bound;
  bound.name = "machine profile " + basis.profile.reference;
  bound.free = memory->value;
  return bound;
}

/// Why a run of it would not fit, the device asked first.
std::optional<std::string> OutOfMemory(const Experiment& executed, const Basis& basis) {
  if (auto refusal = cost::DeviceMemoryRefusal(executed)) return refusal;
  const auto bound = MemoryBoundOf(basis);
  return bound ? cost::MemoryRefusal(executed, *bound) : std::nullopt;
}

trace::RunTrace Execute(const PredictionCosts& costs, const Basis& basis,
                        const base::StopFlag* stop) {
  if (auto why = OutOfMemory(costs.executed, basis))
    return TraceOfNothing({}, trace::EndReason::kOutOfMemory, *std::move(why));
  engine::RunControl control;
  control.stop = stop;
  control.enough = [&](const trace::RunTrace& trace, base::Instant now) {
    return measure::Enough(trace, now, costs.executed);
  };
  return engine::MakeVirtualExecutor(costs.parts)->Run(costs.executed, control);
}

/// The engine knows one asynchronous device, the described one.
void NameDevice(trace::Effective& effective, const spec::Device& device) {
  if (device.kind != DeviceKind::kCuda || !effective.device.IsChosen()) return;
  effective.device = device.Id();
}

/// Keys that the executed experiment has and the asked one does not: real files were put in terms
/// of an emulated storage.
void DropForeignSettings(const Experiment& asked, diagnose::Diagnosis& diagnosis) {
  const auto foreign = [&](const auto& setting) {
    const bool files = asked.storage.kind == spec::StorageKind::kFiles;
    const bool decodes = asked.prepare.kind == spec::PrepareKind::kDecode;
    return (files && setting.first.starts_with("storage")) ||
           (decodes && setting.first.starts_with("prepare"));
  };
  for (diagnose::WhatIf& row : diagnosis.what_if) std::erase_if(row.set, foreign);
  if (diagnosis.recommendation) std::erase_if(diagnosis.recommendation->set, foreign);
}

/// Whether the same engine that made the run says what changes to it would do.
bool RunsChanges(const PredictionCosts& costs, const measure::Measurement& measurement) {
  // A cache shows over whole epochs, which take longer than an answer may.
  const bool caches = costs.executed.storage.cache.policy != spec::CachePolicy::kNone;
  return !caches && Finished(measurement.result) && VirtualTimeIsQuick(costs, measurement);
}

/// The report without its diagnosis.
report::RunReport Measured(const Experiment& experiment, const Basis& basis,
                           const base::StopFlag* stop) {
  const PredictionCosts costs = CostsOf(experiment, basis);
  const trace::RunTrace trace = Execute(costs, basis, stop);
  report::RunReport report;
  report.experiment = experiment;
  report.storage = report.prepare = report.device = report.engine = report::Reality::kPredicted;
  report.prediction = costs.notes;
  report.measurement = measure::Measure(trace, costs.executed);
  NameDevice(report.measurement.effective, costs.executed.device);
  std::vector<measure::Warning>& warnings = report.measurement.warnings;
  // Nothing stops virtual time: readings of a long run only come further and further apart.
  std::erase_if(warnings, [](const measure::Warning& one) { return one.code == "stalled"; });
  warnings.insert(warnings.end(), costs.warnings.begin(), costs.warnings.end());
  return report;
}

void AddDiagnosis(report::RunReport& report, const Basis& basis, const base::StopFlag* stop) {
  const PredictionCosts costs = CostsOf(report.experiment, basis);
  const measure::Measurement& measurement = report.measurement;
  const bool runs_changes = RunsChanges(costs, measurement);
  report.prediction->changes_were_run = runs_changes;
  report.diagnosis = diagnose::Diagnose(
      costs.executed, measurement,
      runs_changes ? PredictInVirtualTime(costs, measurement, stop) : diagnose::PredictByBounds, {},
      diagnose::PredictByBounds);
  DropForeignSettings(report.experiment, report.diagnosis);
}

/// `make` of each experiment, on all cores. oneTBB orders what its bodies read and write before what
/// comes after them; the counter says so once more for the thread sanitizer, which cannot see into
/// libtbb.
template <class Make>
std::vector<report::RunReport> SideBySide(std::span<const Experiment> experiments,
                                          const Make& make) {
  std::vector<report::RunReport> reports(experiments.size());
  std::atomic<std::size_t> made;
  made.store(0, std::memory_order_release);
  tbb::parallel_for(std::size_t{0}, experiments.size(), [&](std::size_t i) {
    made.load(std::memory_order_acquire);
    reports[i] = make(experiments[i]);
    made.fetch_add(1, std::memory_order_release);
  });
  made.load(std::memory_order_acquire);
  return reports;
}

/// The median of several; the first that did not finish, if any.
report::RunReport Summary(std::vector<report::RunReport> reports) {
  const auto ended = std::find_if(reports.begin(), reports.end(), [](const auto& report) {
    return !Finished(report.measurement.result);
  });
  return ended != reports.end() ? std::move(*ended) : MedianOf(std::move(reports));
}

}  // namespace

report::RunReport Predict(const Experiment& experiment, const Basis& basis,
                          const base::StopFlag* stop) {
  report::RunReport report = Measured(experiment, basis, stop);
  AddDiagnosis(report, basis, stop);
  return report;
}

std::vector<report::RunReport> PredictAll(std::span<const Experiment> experiments,
                                          const Basis& basis, const base::StopFlag* stop) {
  return SideBySide(experiments, [&](const Experiment& each) { return Predict(each, basis, stop); });
}

report::RunReport PredictRepeats(const Experiment& experiment, const Basis& basis,
                                 const base::StopFlag* stop) {
  std::vector<Experiment> seeded(static_cast<std::size_t>(experiment.run.repeats), experiment);
  for (std::size_t i = 0; i < seeded.size(); ++i) seeded[i].run.seed += i;
  report::RunReport report = Summary(
      SideBySide(seeded, [&](const Experiment& each) { return Measured(each, basis, stop); }));
  AddDiagnosis(report, basis, stop);
  return report;
}

}  // namespace pipesim::app
