#include "base/text.h"
#include "report/json_parts.h"
#include "report/tune_report.h"
#include "spec/words.h"

namespace pipesim::report {
namespace {

using advise::Configuration;
using advise::Phase;
using advise::RunStatus;
using advise::TuneEnd;
using advise::TuneStep;

std::string_view TextOf(Phase phase) {
  switch (phase) {
    case Phase::kBase:
      return "base";
    case Phase::kTry:
      return "try";
    case Phase::kConfirm:
      return "confirm";
    case Phase::kShrink:
      break;
  }
  return "shrink";
}

std::string_view TextOf(RunStatus status) {
  switch (status) {
    case RunStatus::kOk:
      return "ok";
    case RunStatus::kOutOfMemory:
      return "oom";
    case RunStatus::kFailed:
      return "failed";
    case RunStatus::kInterrupted:
      break;
  }
  return "interrupted";
}

std::string_view TextOf(TuneEnd end) {
  switch (end) {
    case TuneEnd::kNothingMoreToGain:
      return "nothing_more_to_gain";
    case TuneEnd::kRunsUsedUp:
      return "runs_used_up";
    case TuneEnd::kInterrupted:
      return "interrupted";
    case TuneEnd::kNothingRan:
      break;
  }
  return "nothing_ran";
}

Document ConfigurationValue(const Configuration& configuration) {
  const int threads = configuration.compute_threads;
  return {{"workers", configuration.workers},
          {"prefetch_factor", configuration.prefetch_factor},
          {"compute_threads", threads > 0 ? Document(threads) : Document(nullptr)},
          {"dispatch", WordOf(spec::kDispatches, configuration.dispatch)},
          {"batch_size", configuration.batch_size},
          {"persistent_workers", configuration.persistent_workers}};
}

Document StepValue(const TuneStep& step) {
  const bool ok = step.outcome.status == RunStatus::kOk;
  return {{"phase", TextOf(step.phase)},
          {"settings", ConfigurationValue(step.configuration)},
          {"predicted_samples_per_s", NumberValue(step.predicted)},
          {"samples_per_s", ok ? NumberValue(step.outcome.samples_per_s) : nullptr},
          {"bottleneck", TextOrNull(step.outcome.bottleneck)},
          {"status", TextOf(step.outcome.status)},
          {"failure", TextOrNull(step.outcome.failure)},
          {"why", TextValue(step.why)}};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = base::Split(text, '\n');
  std::erase(lines, "");
  return lines;
}

std::optional<double> RateAsItWas(const advise::Tuned& tuned) {
  const TuneStep& base = tuned.steps.front();
  if (base.outcome.status != RunStatus::kOk) return std::nullopt;
  return base.outcome.samples_per_s;
}

Document TunedValue(const TuneReport& report) {
  const advise::Tuned& tuned = report.tuned;
  if (!tuned.best) return nullptr;
  const auto base = RateAsItWas(tuned);
  std::optional<double> gain;
  if (base && *base > 0) gain = tuned.samples_per_s / *base - 1;
  return {{"settings", ConfigurationValue(*tuned.best)},
          {"set", SettingsValue(report.set)},
          {"samples_per_s", NumberValue(tuned.samples_per_s)},
          {"share_of_fastest", NumberValue(tuned.samples_per_s / tuned.fastest_samples_per_s)},
          {"gain", NumberValue(gain)},
          {"held_bytes", report.held_bytes},
          {"changes_training", tuned.best->batch_size != report.base.batch_size},
          {"pytorch", TextValue(report.pytorch)},
          {"yaml", TextArray(Lines(report.yaml))},
          {"file", TextOrNull(report.file)}};
}

}  // namespace

Document ToJson(const TuneReport& report) {
  Document steps = Document::array();
  for (const TuneStep& step : report.tuned.steps) steps.push_back(StepValue(step));
  Document document = HeadOf(report.context, "tune");
  document["experiment"] = ExperimentSection(report.experiment);
  document["engine"] = report.engine == Reality::kPredicted ? "predicted" : "real";
  document["rules"] = {{"most_runs", report.rules.most_runs},
                       {"enough_gain", report.rules.enough_gain},
                       {"within", report.rules.within}};
  document["steps"] = steps;
  document["ended"] = TextOf(report.tuned.end);
  document["remaining_gain"] = NumberValue(report.tuned.remaining_gain);
  document["tuned"] = TunedValue(report);
  document["next"] = {{"argv", TextArray(report.next_argv)}};
  return document;
}

}  // namespace pipesim::report
