// Runs the experiment in a child process (supervisor.h) and delivers its report.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <fstream>
#include <new>

#include "app/command_line/arguments.h"
#include "app/delivery.h"
#include "app/observed.h"
#include "app/process/interrupt.h"
#include "app/process/supervisor.h"
#include "app/progress_line.h"
#include "app/prove.h"
#include "app/requirements.h"
#include "app/session.h"
#include "app/settings_text.h"
#include "base/standard_streams.h"
#include "report/chrome_trace.h"

namespace pipesim::app {
namespace {

using base::ExitCode;

spec::Experiment ReadAskedOfRun(const Arguments& arguments) {
  spec::Request request = RequestOf(arguments);
  request.for_run = true;
  return ReadAsked(request);
}

report::RunReport RunShowingProgress(const Arguments& arguments, const spec::Experiment& experiment,
                                     std::vector<int> spare_cpus, Handover& handover,
                                     trace::RunTrace& trace) {
  base::StopFlag stop;
  InterruptHandler interrupt(stop);
  ProgressLine line(stderr, isatty(STDERR_FILENO) != 0);
  engine::RunControl control;
  control.stop = &stop;
  const bool show = !arguments.Has("quiet");
  control.on_progress = [&](const engine::Progress& progress) {
    handover.ReportProgress(progress);
    if (show) line.Show(progress);
  };
  if (show) {
    control.on_preparing = [&](std::string_view doing, double share) {
      line.ShowPreparing(doing, share);
    };
  }
  control.spare_cpus = std::move(spare_cpus);
  control.keep_spans = ExportsSpans(arguments);
  control.force = arguments.Has("force");
  control.mark_stages = arguments.Has("nvtx");
  return RunRepeats(experiment, control, control.keep_spans ? &trace : nullptr);
}

/// Where memory runs out, the kernel ends the run and not the process that reports it. Half of the
/// scale: above any process of its own size, below what others have set on purpose.
void VolunteerForOomKiller() { std::ofstream("/proc/self/oom_score_adj") << 500; }

/// The report goes on without them where there is no room.
void HandOverSpans(const trace::RunTrace& trace, Outcome& outcome, Handover& handover) {
  try {
    handover.Attach(
        [&](const base::TextSink& sink) { WriteSpans(trace, outcome.document, sink); });
  } catch (const base::EnvironmentError& error) {
    outcome.notes.emplace_back(error.what());
  }
  if (std::string left_out = report::SpansLeftOut(trace); !left_out.empty())
    outcome.notes.push_back(std::move(left_out));
}

/// In the run's own process.
ExitCode RunAndHandOver(const Arguments& arguments, Handover& handover) {
  VolunteerForOomKiller();
  spec::Experiment experiment = ReadAskedOfRun(arguments);
  const std::string cpus_not_here = CpusNotHere(experiment.limits, base::ReadCpuAllowance());
  if (!cpus_not_here.empty()) spdlog::warn(cpus_not_here);
  const std::vector<int> spare_cpus = PrepareMachine(experiment);
  report::RunReport nothing = NothingMeasured(experiment);
  nothing.context.argv = arguments.typed;
  handover.Begin(report::ToJson(nothing));
  Outcome outcome;
  try {
    trace::RunTrace trace;
    outcome = OutcomeOf(arguments, RunShowingProgress(arguments, experiment, spare_cpus, handover, trace));
    if (ExportsSpans(arguments)) HandOverSpans(trace, outcome, handover);
  } catch (const std::bad_alloc&) {
    outcome = OutcomeWithoutMemory(*handover.begun(), handover.last_progress());
  }
  handover.Finish(outcome);
  return outcome.code;
}

/// In the process that the user started: all but the run itself.
ExitCode RunSupervised(const Arguments& arguments) {
  Exports exports(arguments);
  const Handover handover = Handover::Create();
  const ProcessEnd end = Supervise(arguments.typed, handover);
  if (end.interrupted) return ExitCode::kInterrupted;
  if (auto outcome = handover.finished()) {
    if (!end.code) spdlog::warn("after its report was finished, {}", DeathText(end));
    if (arguments.Has("prove")) Prove(arguments, *outcome);
    if (!handover.has_attachment()) return Deliver(arguments, exports, *outcome);
    return Deliver(arguments, exports, *outcome,
                   [&](const base::TextSink& sink) { handover.ReadAttachment(sink); });
  }
  if (end.code && *end.code != 0) return static_cast<ExitCode>(*end.code);  // it has printed why
  if (isatty(STDERR_FILENO)) base::PrintError("\r\033[K");  // its last line of progress
  const auto begun = handover.begun();
  if (begun)
    return Deliver(arguments, exports, OutcomeOfDeath(*begun, end, handover.last_progress()));
  base::PrintError(fmt::format("pipesim: {}, before the run began\n", DeathText(end)));
  return OutcomeOfDeath({}, end, {}).code;
}

}  // namespace

ExitCode Run(const Arguments& arguments) {
  if (auto handover = HandoverToParent()) return RunAndHandOver(arguments, *handover);
  ReadRequirements(arguments);
  ReadObserved(arguments);
  if (arguments.Has("dry-run")) {
    PrintOut(SettingsText(ReadAskedOfRun(arguments)));
    return ExitCode::kOk;
  }
  if (arguments.Has("needs-libtorch")) {
    PrintOut(NeedsTorch(ReadAskedOfRun(arguments)) ? "yes\n" : "no\n");
    return ExitCode::kOk;
  }
  return RunSupervised(arguments);
}

}  // namespace pipesim::app
