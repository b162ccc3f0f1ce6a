#include "app/commands/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>

#include "app/installation.h"
#include "app/process/supervisor.h"
#include "base/names.h"
#include "base/text.h"
#include "measure/repeats.h"
#include "measure/warning.h"
#include "predict/points.h"
#include "report/view.h"
#include "report/warning_texts.h"

namespace pipesim::app {
namespace {

using PointOutcome = sweep::Outcome;
using sweep::Status;

/// Experiments that are kept once read; those of further points are read again.
constexpr std::size_t kMostKept = 10'000;

/// The flags that set one key.
std::vector<spec::ShortKey> ShortKeys() {
  std::vector<spec::ShortKey> keys;
  for (const Option& option : Options())
    if (!option.path.empty() && !option.value.empty() && !option.path.starts_with("sweep."))
      keys.push_back({option.name, option.path, option.to_yaml});
  return keys;
}

/// A sentence of a report as the reason of a point.
std::string AsReason(std::string sentence) {
  if (sentence.ends_with('.')) sentence.pop_back();
  if (!sentence.empty()) sentence.replace(0, 1, base::LowerCase(sentence.substr(0, 1)));
  return sentence;
}

/// Why a run that did not fail has no rate: its report says so in a warning.
std::string WhyNothingMeasured(report::View document) {
  for (const report::View warning : document.At("warnings").Items())
    if (warning.At("code").Text() == measure::warnings::NothingMeasured::kCode)
      return AsReason(warning.At("text").Text());
  return "";
}

std::string WhyNothingMeasured(const std::vector<measure::Warning>& warnings) {
  for (const measure::Warning& warning : warnings)
    if (warning.code == measure::warnings::NothingMeasured::kCode)
      return AsReason(report::WarningText(warning));
  return "";
}

std::optional<PointOutcome> OutcomeOfReport(const report::Document& document) {
  const report::View view(&document, true);
  const std::string status = view.At("result.status").Text();
  if (status == "interrupted") return std::nullopt;
  PointOutcome outcome;
  outcome.status = sweep::StatusNamed(status);
  outcome.reason = view.At("result.failure").Text();
  outcome.workers = view.At("effective.workers").Whole();
  outcome.samples_per_s = view.At("result.samples_per_s").Number();
  if (outcome.status == Status::kOk && !outcome.ok()) {
    outcome.status = Status::kFailed;
    outcome.reason = WhyNothingMeasured(view);
  }
  if (outcome.status != Status::kOk) return outcome;
  outcome.samples_per_s_low = view.At("result.samples_per_s_interval.low").Number();
  outcome.samples_per_s_high = view.At("result.samples_per_s_interval.high").Number();
  outcome.step_time_s = view.At("result.step_time_s.mean").Number();
  outcome.accelerator_utilization = view.At("result.accelerator_utilization").Number();
  outcome.bottleneck = view.At("diagnosis.bottleneck").Text();
  outcome.confidence = view.At("diagnosis.confidence").Text();
  outcome.queued_bytes = view.At("memory.queued_bytes").Whole();
  outcome.enough_workers = view.At("diagnosis.enough.workers").Whole();
  outcome.enough_prefetch_factor = view.At("diagnosis.enough.prefetch_factor").Whole();
  outcome.enough_share = view.At("diagnosis.enough.share_of_best").Number();
  return outcome;
}

PointOutcome OutcomeOfPrediction(const predict::PointPrediction& point) {
  PointOutcome outcome;
  if (!point.prediction) {
    outcome.reason = point.failure;
    return outcome;
  }
  const measure::Measurement& measured = point.prediction->measurement;
  const measure::Result& result = measured.result;
  outcome.workers = measured.workers.count;
  if (!measure::Finished(result)) {
    const bool memory = result.stopped_by == trace::EndReason::kOutOfMemory;
    outcome.status = memory ? Status::kOutOfMemory : Status::kFailed;
    outcome.reason =
        measured.failure.empty() ? WhyNothingMeasured(measured.warnings) : measured.failure;
    return outcome;
  }
  outcome.status = Status::kOk;
  outcome.samples_per_s = result.samples_per_s;
  if (result.samples_per_s_interval) {
    outcome.samples_per_s_low = result.samples_per_s_interval->low;
    outcome.samples_per_s_high = result.samples_per_s_interval->high;
  }
  if (result.step_time) outcome.step_time_s = result.step_time->mean_s;
  outcome.accelerator_utilization = result.accelerator_utilization;
  outcome.queued_bytes = measured.memory.queued_bytes;
  const diagnose::Judgement& judgement = point.prediction->judgement;
  outcome.bottleneck = diagnose::ToText(judgement.bottleneck);
  outcome.confidence = ToText(judgement.confidence);
  return outcome;
}

/// A run of automatic length measures for max_duration, warms up for at most as long and tries
/// changes for a fifth of it. Ten minutes more: to start, to prepare a page cache, and for steps
/// and epochs, whose time is not known.
base::Duration LimitOf(const spec::Experiment& experiment) {
  const spec::Run& run = experiment.run;
  const double each = 600 + 3 * base::ToSeconds(run.duration.value_or(run.max_duration));
  return base::FromSeconds(each * run.repeats);
}

}  // namespace

SweepPoints::SweepPoints(const Arguments& arguments, predict::Basis basis, bool for_run)
    : arguments_(arguments),
      basis_(std::move(basis)),
      folders_(spec::ReadingOnce(FindDataFolders())) {
  spec::Request request = PredictionRequest(arguments, basis_);
  request.for_run = for_run;
  sweep_ = spec::ReadAxes(request, folders_, arguments.All("axis"), ShortKeys());
  if (sweep_.axes.empty())
    throw base::UsageError(
        "a sweep needs an axis: --axis workers=0,1,2,4, or sweep.axes in the experiment file");
  ReadAll(request);
  const auto first = OverridesAt(0);
  request.overrides.insert(request.overrides.end(), first.begin(), first.end());
  reader_.emplace(std::move(request), folders_);
  for (spec::Experiment& experiment : experiments_) reader_->SetCounted(experiment);
}

std::string SweepPoints::AxisName(const spec::SweepAxis& axis) const {
  std::vector<std::string> names;
  for (const std::string& key : axis.keys) {
    std::string name = key.substr(key.rfind('.') + 1);
    for (const spec::ShortKey& known : ShortKeys())
      if (known.path == key && (known.to_yaml == nullptr || known.name == key)) name = known.name;
    names.push_back(std::move(name));
  }
  return base::Join(names, "+");
}

std::string SweepPoints::NameOf(std::size_t point) const {
  const std::vector<std::size_t> position = sweep_.PositionOf(point);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sweep_.axes.size(); ++i)
    parts.push_back(AxisName(sweep_.axes[i]) + " " + sweep_.axes[i].LabelAt(position[i]));
  return base::Join(parts, ", ");
}

Changes SweepPoints::ChangesAt(std::size_t point) const {
  Changes changes;
  for (const spec::Override& change : spec::OverridesAt(sweep_, point))
    changes.emplace_back(change.path, change.value);
  return changes;
}

std::vector<spec::Override> SweepPoints::OverridesAt(std::size_t point) const {
  std::vector<spec::Override> overrides = spec::OverridesAt(sweep_, point);
  // --repeats has already set run.repeats.
  if (sweep_.repeats && !arguments_.Has("repeats"))
    overrides.push_back({"run.repeats", std::to_string(*sweep_.repeats), "--repeats"});
  return overrides;
}

spec::Experiment SweepPoints::At(std::size_t point) const {
  return point < experiments_.size() ? experiments_[point] : reader_->WithOverrides(OverridesAt(point));
}

sweep::PointSettings SweepPoints::Settings() const {
  std::vector<std::string> keys;
  for (const spec::SweepAxis& axis : sweep_.axes) keys.insert(keys.end(), axis.keys.begin(), axis.keys.end());
  sweep::SettingsCollector collector(std::move(keys));
  for (std::size_t point = 0; point < sweep_.Points(); ++point) collector.Add(At(point).settings);
  return collector.Take();
}

base::Duration SweepPoints::LimitAt(std::size_t point) const {
  return sweep_.point_limit ? *sweep_.point_limit : LimitOf(At(point));
}

void SweepPoints::ReadAll(const spec::Request& request) {
  std::vector<base::Problem> problems;
  std::set<std::tuple<std::string, int, int, std::string>> seen;
  for (std::size_t point = 0; point < sweep_.Points(); ++point) {
    spec::Request at_point = request;
    const auto overrides = OverridesAt(point);
    at_point.overrides.insert(at_point.overrides.end(), overrides.begin(), overrides.end());
    try {
      spec::Experiment experiment = spec::ReadExperiment(at_point, folders_).experiment;
      if (experiments_.size() == point && point < kMostKept) experiments_.push_back(std::move(experiment));
    } catch (const base::ConfigError& error) {
      for (base::Problem problem : error.problems()) {
        if (!seen.insert({problem.source, problem.line, problem.column, problem.what}).second)
          continue;
        problem.what += " (at " + NameOf(point) + ")";
        problems.push_back(std::move(problem));
      }
    }
  }
  if (!problems.empty()) throw base::ConfigError(std::move(problems));
}

std::optional<PointOutcome> SweepPoints::Run(std::size_t point, const base::StopFlag& stop) const {
  Changes changes = ChangesAt(point);
  const spec::Experiment experiment = At(point);
  changes.emplace_back("run.repeats", std::to_string(experiment.run.repeats));
  std::vector<std::string> words = WithChanges(ForCommand(arguments_, "run"), changes);
  words.front() = "run";  // in place of the program's name
  words.insert(words.end(), {"--quiet", "--no-save"});
  const base::Duration limit = LimitAt(point);
  const auto begin = std::chrono::steady_clock::now();
  const app::Outcome run = RunBeside(words, &stop, limit);
  const base::Duration wall = std::chrono::steady_clock::now() - begin;
  if (stop.IsSet() || run.code == base::ExitCode::kInterrupted) return std::nullopt;
  auto outcome = OutcomeOfReport(run.document);
  if (!outcome) return std::nullopt;
  if (!outcome->ok() && wall > limit) {
    outcome->status = Status::kFailed;
    outcome->limit_s = base::ToSeconds(limit);
    outcome->reason =
        fmt::format("ended at its limit of {}; --resume with a longer --point-limit runs it again",
                    spec::ToText(limit));
  }
  if (outcome->reason.empty() && !outcome->ok())
    outcome->reason = run.notes.empty() ? "the run has no result" : run.notes.front();
  outcome->wall_s = base::ToSeconds(wall);
  return outcome;
}

void SweepPoints::Predict(const std::vector<std::size_t>& points, const base::StopFlag& stop,
                          const std::function<void(std::size_t, const PointOutcome&)>& done) const {
  // Neighbours ask for the same what-ifs.
  std::vector<std::size_t> ascending = points;
  std::sort(ascending.begin(), ascending.end());
  predict::PredictPoints(
      ascending.size(), [&](std::size_t i) { return At(ascending[i]); }, basis_, &stop,
      [&](std::size_t i, const predict::PointPrediction& prediction) {
        // A stop may have cut the diagnosis short.
        if (!stop.IsSet()) done(ascending[i], OutcomeOfPrediction(prediction));
      });
}

void SweepPoints::FindEnough(std::size_t point, PointOutcome& predicted) const {
  const predict::Prediction prediction = predict::Predict(At(point), basis_, nullptr);
  const auto& enough = prediction.diagnosis.enough;
  if (!enough) return;
  predicted.enough_workers = enough->workers;
  predicted.enough_prefetch_factor = enough->prefetch_factor;
  predicted.enough_share = enough->share_of_best;
}

}  // namespace pipesim::app
