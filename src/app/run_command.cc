// The experiment is run in a process of its own (supervisor.h); what it leaves is delivered here.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <new>

#include "app/commands.h"
#include "app/installation.h"
#include "app/interrupt.h"
#include "app/kept_runs.h"
#include "app/output.h"
#include "app/progress_line.h"
#include "app/session.h"
#include "app/settings_text.h"
#include "app/supervisor.h"
#include "app/thresholds.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

using base::ExitCode;

spec::Experiment ReadAsked(const Arguments& arguments) {
  spec::ReadResult read = spec::ReadExperiment(RequestOf(arguments), FindDataFolders());
  for (const base::Problem& warning : read.warnings)
    spdlog::warn("{}{}", warning.what, warning.suggestion.empty() ? "" : "; " + warning.suggestion);
  return std::move(read.experiment);
}

report::RunReport RunShowingProgress(const Arguments& arguments, const spec::Experiment& experiment,
                                     Handover& handover) {
  base::StopFlag stop;
  InterruptHandler interrupt(stop);
  ProgressLine line(stderr, isatty(STDERR_FILENO) != 0);
  engine::RunControl control;
  control.stop = &stop;
  const bool show = !arguments.Has("quiet");
  control.on_progress = [&](const engine::Progress& progress) {
    handover.Hear(progress);
    if (show) line.Show(progress);
  };
  if (show) {
    control.on_preparing = [&](std::string_view doing, double share) {
      line.ShowPreparing(doing, share);
    };
  }
  return RunRepeats(experiment, control);
}

/// Where it is kept; empty: nowhere.
std::string KeepIfAsked(const Arguments& arguments, const report::Document& document) {
  const auto folder = StateFolder();
  if (arguments.Has("no-save") || !folder) return {};
  try {
    return KeepRun(*folder,
                   document.dump(2, ' ', false, report::Document::error_handler_t::replace));
  } catch (const base::EnvironmentError& error) {
    spdlog::warn("this run is not kept for `pipesim report last`: {}", error.what());
    return {};
  }
}

ExitCode CodeOf(const measure::Measurement& measurement) {
  switch (measurement.result.stopped_by) {
    case trace::EndReason::kInterrupted:
      return ExitCode::kInterrupted;
    case trace::EndReason::kFailed:
    case trace::EndReason::kOutOfMemory:
      return ExitCode::kRunFailed;
    default:
      return ExitCode::kOk;
  }
}

/// What a run leaves besides its numbers: where to go next, and what the thresholds say.
Outcome OutcomeOf(const Arguments& arguments, report::RunReport report) {
  report.context.argv = arguments.typed;
  if (report.diagnosis.recommendation && !report.diagnosis.recommendation->set.empty())
    report.next_argv = WithChanges(arguments, report.diagnosis.recommendation->set);
  const ThresholdResult result =
      CheckThresholds(ReadThresholds(arguments), report.measurement, report.diagnosis);
  const ExitCode code = CodeOf(report.measurement);
  return {report::ToJson(report), result.lines, code == ExitCode::kOk ? result.code : code};
}

/// In the run's own process.
ExitCode RunAndHandOver(const Arguments& arguments, Handover& handover) {
  spec::Experiment experiment = ReadAsked(arguments);
  PrepareMachine(experiment);
  report::RunReport nothing = NothingMeasured(experiment);
  nothing.context.argv = arguments.typed;
  handover.Begin(report::ToJson(nothing));
  Outcome outcome;
  try {
    outcome = OutcomeOf(arguments, RunShowingProgress(arguments, experiment, handover));
  } catch (const std::bad_alloc&) {
    outcome = OutcomeWithoutMemory(*handover.begun(), handover.heard());
  }
  handover.Finish(outcome);
  return outcome.code;
}

/// Keeps, exports and prints it. Whatever cannot be written, the rest is, and where the numbers are
/// to be had is said.
ExitCode Deliver(const Arguments& arguments, Exports& exports, const Outcome& outcome) {
  const std::string kept = KeepIfAsked(arguments, outcome.document);
  std::vector<std::string> failures;
  const auto attempt = [&failures](auto&& write) {
    try {
      write();
    } catch (const base::EnvironmentError& error) {
      failures.emplace_back(error.what());
    }
  };
  attempt([&] { exports.Write(outcome.document); });
  if (!exports.replaces_text())
    attempt([&] { PrintOut(report::ToText(outcome.document, TextOptionsFor(arguments))); });
  for (const std::string& note : outcome.notes) fmt::print(stderr, "{}\n", note);
  if (failures.empty()) return outcome.code;
  if (!kept.empty())
    failures.push_back("nothing measured is lost: it is kept in " + kept +
                       ", and `pipesim report last` shows it");
  throw base::EnvironmentError(base::Join(failures, "\n"));
}

/// In the process that the user started: everything but the run itself.
ExitCode RunSupervised(const Arguments& arguments) {
  Exports exports(arguments);
  const Handover handover = Handover::Create();
  const ProcessEnd end = Supervise(arguments.typed, handover);
  if (end.interrupted) return ExitCode::kInterrupted;
  if (const auto outcome = handover.finished()) {
    if (!end.code) spdlog::warn("after its report was finished, {}", DeathText(end));
    return Deliver(arguments, exports, *outcome);
  }
  if (end.code && *end.code != 0) return static_cast<ExitCode>(*end.code);  // it has said why
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");  // its last line of progress
  const auto begun = handover.begun();
  if (begun) return Deliver(arguments, exports, OutcomeOfDeath(*begun, end, handover.heard()));
  fmt::print(stderr, "pipesim: {}, before the run began\n", DeathText(end));
  return OutcomeOfDeath({}, end, {}).code;
}

}  // namespace

ExitCode Run(const Arguments& arguments) {
  if (auto handover = HandoverToParent()) return RunAndHandOver(arguments, *handover);
  ReadThresholds(arguments);
  if (arguments.Has("dry-run")) {
    PrintOut(SettingsText(ReadAsked(arguments)));
    return ExitCode::kOk;
  }
  if (arguments.Has("needs-libtorch")) {
    PrintOut(NeedsTorch(ReadAsked(arguments)) ? "yes\n" : "no\n");
    return ExitCode::kOk;
  }
  return RunSupervised(arguments);
}

}  // namespace pipesim::app
