// Closes the loop: runs, predictions from them, and the smallest settings that are nearly fastest.
#include <fmt/format.h>

#include <filesystem>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/prediction_input.h"
#include "app/process/interrupt.h"
#include "app/session.h"
#include "app/commands/tuner.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "diagnose/recommend.h"
#include "report/tune_report.h"
#include "spec/units_text.h"
#include "spec/write.h"

namespace pipesim::app {
namespace {

using base::ExitCode;

/// --engine run; else predict.
bool RunsForReal(const Arguments& arguments) {
  const std::string engine = arguments.Last("engine").value_or("run");
  if (engine != "run" && engine != "predict")
    throw base::UsageError(
        fmt::format("--engine takes run or predict, not '{}'", base::Printable(engine)));
  if (engine == "run" && arguments.Has("from"))
    throw base::UsageError(
        "--from takes the experiment from a report, which only --engine predict can use");
  return engine == "run";
}

bool MayChangeBatch(const Arguments& arguments) {
  for (const std::string& what : arguments.All("allow"))
    if (what != "batch")
      throw base::UsageError(fmt::format("--allow takes batch, not '{}'", base::Printable(what)));
  return arguments.Has("allow");
}

advise::TuneRules RulesOf(const Arguments& arguments) {
  advise::TuneRules rules;
  if (const auto text = arguments.Last("within")) {
    const auto share = spec::ParseShare(*text);
    const double* const value = std::get_if<double>(&share);
    if (value == nullptr || *value >= 1)
      throw base::UsageError(
          fmt::format("--within takes a share such as 2%, not '{}'", base::Printable(*text)));
    rules.within = *value;
  }
  if (const auto text = arguments.Last("most-runs")) {
    constexpr std::int64_t kMostRuns = 1000;
    const auto count = spec::ParseCount(*text);
    const auto* const value = std::get_if<std::int64_t>(&count);
    if (value == nullptr || *value < 1 || *value > kMostRuns)
      throw base::UsageError(fmt::format("--most-runs takes a count from 1 to {}, not '{}'",
                                         kMostRuns, base::Printable(*text)));
    rules.most_runs = static_cast<int>(*value);
  }
  return rules;
}

/// "run 3 of at most 8: workers 6, prefetch 2 ..." on stderr, for real runs.
class RunLines {
 public:
  RunLines(bool show, int most) : show_(show), most_(most) {}
  void Begin(const Changes& changes) {
    ++run_;
    if (!show_) return;
    std::string text;
    for (const auto& [key, value] : changes)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, value);
    base::PrintError(fmt::format("run {} of at most {}: {}\n", run_, most_,
                                 text.empty() ? "as it is" : base::Printable(text)));
  }

 private:
  bool show_;
  int most_, run_ = 0;
};

report::TuneReport TuneInterruptibly(const Arguments& arguments, const ExperimentReader& reader,
                                     predict::Basis basis, bool real,
                                     const advise::TuneRules& rules, bool batch) {
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  Tuner tuner(arguments, reader, std::move(basis), real, stop);
  RunLines lines(real && !arguments.Has("quiet"), rules.most_runs);
  lines.Begin({});
  const advise::RunOutcome first = tuner.RunBase();
  advise::TuneTools tools;
  tools.run = [&](const advise::Configuration& configuration) {
    lines.Begin(tuner.ChangesOf(configuration));
    return tuner.Run(configuration);
  };
  tools.predict = [&](const advise::Configuration& configuration) {
    return tuner.Predict(configuration);
  };
  report::TuneReport report;
  report.context = ReadContext();
  report.context.argv = arguments.typed;
  report.experiment = reader.asked();
  report.engine = real ? report::Reality::kReal : report::Reality::kPredicted;
  report.rules = rules;
  report.base = tuner.base();
  report.tuned = advise::Tune(tuner.base(), first, tuner.Space(batch), tools, rules);
  if (report.tuned.best) report.set = tuner.ChangesOf(*report.tuned.best);
  return report;
}

/// What to take over from the tuned configuration.
void AddTuned(const Arguments& arguments, const ExperimentReader& reader,
              report::TuneReport& report) {
  const auto& best = report.tuned.best;
  if (!best) return;
  const spec::Experiment tuned = reader.With(report.set);
  report.held_bytes = best->SamplesHeld() * spec::PreparedBytes(tuned.dataset).count *
                      tuned.run.accelerators;
  report.pytorch = diagnose::DataLoaderText(tuned.loader, tuned.run.accelerators);
  report.yaml = spec::WriteExperiment(tuned);
  const bool real = report.engine == report::Reality::kReal;
  report.next_argv = WithChanges(ForCommand(arguments, real ? "run" : "predict"), report.set);
}

ExitCode CodeOf(const advise::Tuned& tuned) {
  if (tuned.end == advise::TuneEnd::kInterrupted) return ExitCode::kInterrupted;
  return tuned.best ? ExitCode::kOk : ExitCode::kRunFailed;
}

}  // namespace

ExitCode Tune(const Arguments& arguments) {
  const bool real = RunsForReal(arguments), batch = MayChangeBatch(arguments);
  advise::TuneRules rules = RulesOf(arguments);
  rules.confirm = real;
  predict::Basis basis = BasisOf(arguments);
  spec::Request request = PredictionRequest(arguments, basis);
  request.for_run = real;
  const ExperimentReader reader(request);
  if (arguments.Has("needs-libtorch")) {
    PrintOut(real && NeedsTorch(reader.asked()) ? "yes\n" : "no\n");
    return ExitCode::kOk;
  }
  base::KeepFreedMemory();
  Exports exports(arguments);
  std::optional<base::OutputFile> out;
  if (const auto file = arguments.Last("out")) out.emplace(*file);
  report::TuneReport report =
      TuneInterruptibly(arguments, reader, std::move(basis), real, rules, batch);
  AddTuned(arguments, reader, report);
  if (out && report.tuned.best) {
    out->Commit(report.yaml);
    report.file = *arguments.Last("out");
  }
  ExportAndPrint(arguments, exports, report::ToJson(report));
  return CodeOf(report.tuned);
}

}  // namespace pipesim::app
