// An experiment answered in virtual time: no child process, no LibTorch, no GPU.
#include "app/command_line/arguments.h"
#include "app/delivery.h"
#include "app/observed.h"
#include "app/prediction_input.h"
#include "app/process/interrupt.h"
#include "app/requirements.h"
#include "app/session.h"
#include "app/settings_text.h"
#include "base/memory.h"
#include "measure/repeats.h"
#include "predict/predict.h"
#include "report/chrome_trace.h"

namespace pipesim::app {
namespace {

report::RunReport PredictInterruptibly(const spec::Experiment& experiment,
                                       const predict::Basis& basis, trace::RunTrace* kept) {
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  predict::Prediction prediction = predict::Predict(experiment, basis, &stop, kept);
  report::RunReport report;
  report.context = ReadContext();
  report.experiment = experiment;
  report.storage = report.prepare = report.device = report.engine = report::Reality::kPredicted;
  report.measurement = std::move(prediction.measurement);
  // The rate was complete, but its diagnosis was cut short.
  if (stop.IsSet() && measure::Finished(report.measurement.result))
    report.measurement.result.stopped_by = trace::EndReason::kInterrupted;
  report.diagnosis = std::move(prediction.diagnosis);
  report.repeats = std::move(prediction.repeats);
  report.prediction = std::move(prediction.notes);
  return report;
}

}  // namespace

base::ExitCode Predict(const Arguments& arguments) {
  ReadRequirements(arguments);
  ReadObserved(arguments);
  const predict::Basis basis = BasisOf(arguments);
  if (arguments.Has("needs-libtorch")) {
    ReadAsked(PredictionRequest(arguments, basis));
    PrintOut("no\n");
    return base::ExitCode::kOk;
  }
  if (arguments.Has("dry-run")) {
    PrintOut(SettingsText(ReadAsked(PredictionRequest(arguments, basis))));
    return base::ExitCode::kOk;
  }
  base::KeepFreedMemory();
  Exports exports(arguments);
  const ExperimentReader reader(PredictionRequest(arguments, basis));
  trace::RunTrace trace;
  const bool spans = ExportsSpans(arguments);
  report::RunReport report = PredictInterruptibly(reader.asked(), basis, spans ? &trace : nullptr);
  Outcome outcome = OutcomeOf(arguments, std::move(report));
  if (!spans) return Deliver(arguments, exports, outcome);
  if (std::string left_out = report::SpansLeftOut(trace); !left_out.empty())
    outcome.notes.push_back(std::move(left_out));
  return Deliver(arguments, exports, outcome, [&](const base::TextSink& sink) {
    WriteSpans(trace, outcome.document, sink);
  });
}

}  // namespace pipesim::app
