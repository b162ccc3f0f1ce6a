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

namespace pipesim::app {
namespace {

report::RunReport PredictInterruptibly(const spec::Experiment& experiment,
                                       const predict::Basis& basis) {
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  predict::Prediction prediction = predict::Predict(experiment, basis, &stop);
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
  report::RunReport report = PredictInterruptibly(reader.asked(), basis);
  return Deliver(arguments, exports, OutcomeOf(arguments, std::move(report)));
}

}  // namespace pipesim::app
