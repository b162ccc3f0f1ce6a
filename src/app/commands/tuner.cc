#include "app/commands/tuner.h"

#include <algorithm>
#include <cmath>

#include "advise/axis.h"
#include "advise/candidates.h"
#include "app/measured_run.h"
#include "app/process/supervisor.h"
#include "base/text.h"
#include "diagnose/settings.h"
#include "measure/repeats.h"
#include "predict/predict.h"
#include "report/view.h"
#include "spec/words.h"

namespace pipesim::app {
namespace {

using advise::Configuration;
using advise::RunOutcome;
using advise::RunStatus;
using report::View;

constexpr const char* kWorkersKey = "loader.workers";
constexpr const char* kPrefetchKey = "loader.prefetch_factor";
constexpr const char* kDispatchKey = "loader.dispatch";
constexpr const char* kBatchKey = "loader.batch_size";
constexpr const char* kThreadsKey = "limits.compute_threads";
constexpr const char* kPersistentKey = "loader.persistent_workers";

RunStatus StatusOf(const std::string& word) {
  if (word == "ok") return RunStatus::kOk;
  if (word == "interrupted") return RunStatus::kInterrupted;
  return word == "oom" ? RunStatus::kOutOfMemory : RunStatus::kFailed;
}

RunStatus StatusOf(trace::EndReason reason) {
  if (reason == trace::EndReason::kInterrupted) return RunStatus::kInterrupted;
  return reason == trace::EndReason::kOutOfMemory ? RunStatus::kOutOfMemory : RunStatus::kFailed;
}

/// Sets what the key changes; false for a key that tuning does not change.
bool Apply(const std::string& key, const std::string& value, Configuration& configuration) {
  if (key == kDispatchKey) {
    configuration.dispatch = value == spec::WordOf(spec::kDispatches, spec::Dispatch::kShared)
                                 ? spec::Dispatch::kShared
                                 : spec::Dispatch::kRoundRobin;
    return true;
  }
  if (key == kPersistentKey) {
    configuration.persistent_workers = value == "true";
    return true;
  }
  int* const count = key == kWorkersKey    ? &configuration.workers
                     : key == kPrefetchKey ? &configuration.prefetch_factor
                     : key == kThreadsKey  ? &configuration.compute_threads
                                           : nullptr;
  const auto number = base::WholeNumber<int>(value);
  if (count == nullptr || !number) return false;
  *count = *number;
  return true;
}

}  // namespace

Tuner::Tuner(const Arguments& arguments, const ExperimentReader& reader, predict::Basis basis,
             bool real, const base::StopFlag& stop)
    : arguments_(arguments),
      reader_(reader),
      basis_(std::move(basis)),
      quick_(ForSearch(basis_)),
      real_(real),
      stop_(stop) {}

RunOutcome Tuner::RunBase() {
  report::Document document;
  RunOutcome outcome = real_ ? RunForReal({}, document) : RunPredicted({});
  const spec::Experiment& asked = reader_.asked();
  const predict::Resolved resolved = predict::Resolve(asked, basis_);
  base_ = {.workers = asked.loader.workers,
           .prefetch_factor = asked.loader.workers > 0 ? asked.loader.prefetch_factor : 2,
           .compute_threads = resolved.pipeline.step.on_cpu() ? resolved.compute_threads : 0,
           .dispatch = asked.loader.dispatch,
           .batch_size = asked.loader.batch_size,
           .persistent_workers = asked.loader.persistent_workers};
  outcome.hints = HintsOf(document);
  return outcome;
}

RunOutcome Tuner::Run(const Configuration& configuration) {
  const Changes changes = ChangesOf(configuration);
  if (!real_) return RunPredicted(changes);
  report::Document document;
  return RunForReal(changes, document);
}

std::optional<double> Tuner::Predict(const Configuration& configuration) {
  const auto known = predicted_.find(configuration);
  if (known != predicted_.end()) return known->second;
  const predict::Prediction prediction =
      predict::PredictRates(reader_.With(ChangesOf(configuration)), quick_, &stop_);
  std::optional<double> rate;
  if (measure::Finished(prediction.measurement.result))
    rate = prediction.measurement.result.samples_per_s;
  return predicted_[configuration] = rate;
}

advise::TuneSpace Tuner::Space(bool batch) const {
  advise::TuneSpace space;
  const predict::Resolved resolved = predict::Resolve(reader_.asked(), basis_);
  space.cores = std::max(1, static_cast<int>(resolved.notes.cores));
  space.fewest_workers = spec::NeedsWorkers(reader_.asked()) ? 1 : 0;
  space.most_workers = diagnose::MostWorkers(diagnose::VariantOf(reader_.asked(), resolved.pipeline));
  // Each of PyTorch's worker processes has a queue of its own.
  const bool processes = reader_.asked().loader.kind == spec::LoaderKind::kProcess;
  space.shared_dispatch = !processes;
  // Processes lose time slices to each other, and dear samples may come in stretches. The window
  // hides that, and predictions have neither: only a real run may try a smaller one.
  if (processes && !real_) space.fewest_prefetch = base_.prefetch_factor;
  space.persistent_workers = !base_.persistent_workers;
  space.batch = batch;
  if (base_.compute_threads == 0) return space;
  auto& threads = space.compute_threads;
  if (const auto& step = reader_.asked().device.step) {
    // It is known on the threads that it was measured with, and at most so many times as long on one.
    if (step->threads && base_.compute_threads > 1) threads = {1, base_.compute_threads};
    return space;
  }
  threads = advise::CountLadder(1, space.cores);
  const auto at = std::lower_bound(threads.begin(), threads.end(), base_.compute_threads);
  if (at == threads.end() || *at != base_.compute_threads)
    threads.insert(at, base_.compute_threads);
  return space;
}

Changes Tuner::ChangesOf(const Configuration& configuration) const {
  Changes changes;
  if (configuration.workers != base_.workers)
    changes.emplace_back(kWorkersKey, std::to_string(configuration.workers));
  if (configuration.prefetch_factor != base_.prefetch_factor && configuration.workers > 0)
    changes.emplace_back(kPrefetchKey, std::to_string(configuration.prefetch_factor));
  if (configuration.dispatch != base_.dispatch)
    changes.emplace_back(kDispatchKey, spec::WordOf(spec::kDispatches, configuration.dispatch));
  if (configuration.persistent_workers != base_.persistent_workers && configuration.workers > 0)
    changes.emplace_back(kPersistentKey, "true");
  if (configuration.compute_threads != base_.compute_threads)
    changes.emplace_back(kThreadsKey, std::to_string(configuration.compute_threads));
  if (configuration.batch_size != base_.batch_size)
    changes.emplace_back(kBatchKey, std::to_string(configuration.batch_size));
  return changes;
}

RunOutcome Tuner::RunForReal(const Changes& changes, report::Document& document) {
  std::vector<std::string> words = WithChanges(ForCommand(arguments_, "run"), changes);
  words.front() = "run";  // in place of the program's name
  words.insert(words.end(), {"--quiet", "--no-save"});
  Outcome run = RunBeside(words, &stop_);
  document = std::move(run.document);
  const View view(&document, true);
  RunOutcome outcome;
  outcome.status = StatusOf(view.At("result.status").Text());
  // A run that the stop ends before it begins leaves no document.
  if (outcome.status != RunStatus::kOk && stop_.IsSet()) outcome.status = RunStatus::kInterrupted;
  outcome.failure = view.At("result.failure").Text();
  if (document.is_null() && !run.notes.empty()) outcome.failure = run.notes.front();
  if (outcome.status != RunStatus::kOk) return outcome;
  outcome.samples_per_s = view.At("result.samples_per_s").NumberOr(0);
  outcome.bottleneck = view.At("diagnosis.bottleneck").Text();
  Refit(document, outcome.samples_per_s);
  return outcome;
}

RunOutcome Tuner::RunPredicted(const Changes& changes) {
  const predict::Prediction prediction = predict::Predict(reader_.With(changes), basis_, &stop_);
  const measure::Measurement& measured = prediction.measurement;
  RunOutcome outcome;
  if (!measure::Finished(measured.result)) {
    outcome.status = StatusOf(measured.result.stopped_by);
    outcome.failure = measured.failure;
    return outcome;
  }
  outcome.samples_per_s = *measured.result.samples_per_s;
  outcome.bottleneck = diagnose::ToText(prediction.diagnosis.bottleneck);
  return outcome;
}

/// Predictions start from the demands of the fastest run: those of a slow one may hold contention.
void Tuner::Refit(const report::Document& document, double samples_per_s) {
  if (samples_per_s <= fastest_) return;
  fastest_ = samples_per_s;
  basis_.run = MeasuredRunOf(document, "the run as it was");
  quick_.run = basis_.run;
  predicted_.clear();
}

/// Rows of the what-if table that are a matter of flags that tuning sets.
std::vector<advise::Hint> Tuner::HintsOf(const report::Document& document) const {
  std::vector<advise::Hint> hints;
  for (const View row : View(&document, true).At("diagnosis.what_if").Items()) {
    advise::Hint hint{base_, row.At("samples_per_s").NumberOr(0)};
    bool all = row.At("takes").Text() == "flag" && !row.At("changes_training").IsTrue();
    for (const auto& [key, value] : row.At("set").Members())
      all = all && Apply(key, value.Text(), hint.configuration);
    if (all && hint.configuration != base_) hints.push_back(hint);
  }
  return hints;
}

}  // namespace pipesim::app
