#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/installation.h"
#include "app/interrupt.h"
#include "app/kept_runs.h"
#include "app/output.h"
#include "app/progress_line.h"
#include "app/session.h"
#include "app/settings_text.h"
#include "app/thresholds.h"

namespace pipesim::app {
namespace {

using base::ExitCode;

spec::Experiment ReadAsked(const Arguments& arguments) {
  spec::ReadResult read = spec::ReadExperiment(RequestOf(arguments), FindDataFolders());
  for (const base::Problem& warning : read.warnings)
    spdlog::warn("{}{}", warning.what, warning.suggestion.empty() ? "" : "; " + warning.suggestion);
  return std::move(read.experiment);
}

report::RunReport RunShowingProgress(const Arguments& arguments,
                                     const spec::Experiment& experiment) {
  base::StopFlag stop;
  InterruptHandler interrupt(stop);
  ProgressLine line(stderr, isatty(STDERR_FILENO) != 0);
  engine::RunControl control;
  control.stop = &stop;
  if (!arguments.Has("quiet"))
    control.on_progress = [&](const engine::Progress& progress) { line.Show(progress); };
  return RunRepeats(experiment, control);
}

void KeepIfAsked(const Arguments& arguments, const report::Document& document) {
  const auto folder = StateFolder();
  if (arguments.Has("no-save") || !folder) return;
  try {
    KeepRun(*folder, document.dump(2, ' ', false, report::Document::error_handler_t::replace));
  } catch (const base::EnvironmentError& error) {
    spdlog::warn("this run is not kept for `pipesim report last`: {}", error.what());
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

}  // namespace

ExitCode Run(const Arguments& arguments) {
  const Thresholds thresholds = ReadThresholds(arguments);
  spec::Experiment experiment = ReadAsked(arguments);
  if (arguments.Has("dry-run")) {
    PrintOut(SettingsText(experiment));
    return ExitCode::kOk;
  }
  if (arguments.Has("needs-libtorch")) {
    PrintOut(NeedsTorch(experiment) ? "yes\n" : "no\n");
    return ExitCode::kOk;
  }
  Exports exports(arguments);
  PrepareMachine(experiment);

  report::RunReport report = RunShowingProgress(arguments, experiment);
  report.context.argv = arguments.typed;
  if (report.diagnosis.recommendation && !report.diagnosis.recommendation->set.empty())
    report.next_argv = WithChanges(arguments, report.diagnosis.recommendation->set);

  const report::Document document = report::ToJson(report);
  KeepIfAsked(arguments, document);
  if (!exports.replaces_text()) PrintOut(report::ToText(document, TextOptionsFor(arguments)));
  exports.Write(document);

  const ThresholdResult result = CheckThresholds(thresholds, report.measurement, report.diagnosis);
  for (const std::string& text : result.lines) fmt::print(stderr, "{}\n", text);
  const ExitCode code = CodeOf(report.measurement);
  return code == ExitCode::kOk ? result.code : code;
}

}  // namespace pipesim::app
