#include "app/delivery.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/installation.h"
#include "app/kept_runs.h"
#include "app/observed.h"
#include "app/requirements.h"
#include "base/standard_streams.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

using base::ExitCode;

/// The path of the kept run; empty if it is not kept.
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

}  // namespace

spec::Experiment ReadAsked(const spec::Request& request) {
  spec::ReadResult read = spec::ReadExperiment(request, FindDataFolders());
  for (const base::Problem& warning : read.warnings)
    spdlog::warn("{}{}", warning.what, warning.suggestion.empty() ? "" : "; " + warning.suggestion);
  return std::move(read.experiment);
}

namespace {

/// The command that a recommendation stands for. A device that is not here can only be predicted.
std::vector<std::string> NextArgv(const Arguments& arguments, const report::RunReport& report) {
  const auto& set = report.diagnosis.recommendation->set;
  const bool real = report.device == report::Reality::kReal;
  const bool elsewhere = real && std::any_of(set.begin(), set.end(), [](const auto& each) {
                           return each.first == "device" || each.first.starts_with("device.");
                         });
  return WithChanges(elsewhere ? ForCommand(arguments, "predict") : arguments, set);
}

}  // namespace

Outcome OutcomeOf(const Arguments& arguments, report::RunReport report) {
  report.context.argv = arguments.typed;
  diagnose::HeedObserved(ReadObserved(arguments), report.experiment, report.measurement,
                         report.diagnosis);
  if (report.diagnosis.recommendation && !report.diagnosis.recommendation->set.empty())
    report.next_argv = NextArgv(arguments, report);
  const RequirementResult result =
      CheckRequirements(ReadRequirements(arguments), report.measurement, report.diagnosis);
  const ExitCode code = CodeOf(report.measurement);
  return {report::ToJson(report), result.lines, code == ExitCode::kOk ? result.code : code};
}

namespace {

/// The reasons of what failed.
std::vector<std::string> TryExportAndPrint(const Arguments& arguments, Exports& exports,
                                           const report::Document& document,
                                           const SpansText& spans = {}) {
  std::vector<std::string> failures;
  const auto attempt = [&failures](auto&& write) {
    try {
      write();
    } catch (const base::EnvironmentError& error) {
      failures.emplace_back(error.what());
    }
  };
  attempt([&] { exports.Write(document, spans); });
  if (!exports.replaces_text())
    attempt([&] { PrintOut(report::ToText(document, TextOptionsFor(arguments))); });
  return failures;
}

}  // namespace

void ExportAndPrint(const Arguments& arguments, Exports& exports,
                    const report::Document& document) {
  const std::vector<std::string> failures = TryExportAndPrint(arguments, exports, document);
  if (!failures.empty()) throw base::EnvironmentError(base::Join(failures, "\n"));
}

ExitCode Deliver(const Arguments& arguments, Exports& exports, const Outcome& outcome,
                 const SpansText& spans) {
  const std::string kept = KeepIfAsked(arguments, outcome.document);
  std::vector<std::string> failures =
      TryExportAndPrint(arguments, exports, outcome.document, spans);
  for (const std::string& note : outcome.notes) base::PrintError(note + "\n");
  if (failures.empty()) return outcome.code;
  if (!kept.empty())
    failures.push_back("the report is kept in " + kept + "; `pipesim report last` shows it");
  throw base::EnvironmentError(base::Join(failures, "\n"));
}

}  // namespace pipesim::app
