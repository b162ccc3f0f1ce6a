// An experiment answered in virtual time: no child process, no LibTorch, no GPU.
#include <fmt/format.h>

#include "app/command_line/arguments.h"
#include "app/delivery.h"
#include "app/installation.h"
#include "app/kept_runs.h"
#include "app/measured_run.h"
#include "app/process/interrupt.h"
#include "app/requirements.h"
#include "app/session.h"
#include "app/settings_text.h"
#include "base/cpus.h"
#include "base/memory.h"
#include "base/text.h"
#include "predict/predict.h"

namespace pipesim::app {
namespace {

using predict::Basis;

constexpr const char* kDefaultProfile = "default";

Basis BasisOf(const Arguments& arguments) {
  Basis basis;
  const auto named = arguments.Last("profile");
  basis.profile_is_named = named.has_value();
  basis.profile =
      spec::ReadMachineProfile(named.value_or(kDefaultProfile), "--profile", FindDataFolders());
  if (const auto which = arguments.Last("from"))
    basis.run = ReadMeasuredRun(ReportFile(*which, StateFolder()).string());
  basis.cores_here = base::ReadCpuAllowance().Cores();
  basis.memory_here = base::ReadMemoryBounds();
  return basis;
}

/// The request of the command line, on top of the settings of the --from report.
spec::Request RequestFor(const Arguments& arguments, const Basis& basis) {
  spec::Request request = RequestOf(arguments);
  if (!basis.run) return request;
  if (request.file)
    throw base::UsageError(
        fmt::format("--from takes the experiment from a report, so '{}' cannot be given too; use "
                    "flags to change it",
                    base::Printable(request.file->string())));
  request.overrides.insert(request.overrides.begin(), basis.run->settings.begin(),
                           basis.run->settings.end());
  return request;
}

spec::Experiment ReadExperiment(const Arguments& arguments, const Basis& basis) {
  spec::Experiment experiment = ReadAsked(RequestFor(arguments, basis));
  // The --from report has the figures of its folder, which need not exist on this machine.
  const spec::Dataset& dataset = experiment.dataset;
  if (dataset.samples == 0 || dataset.sample_bytes.IsZero()) CountSamples(experiment);
  return experiment;
}

report::RunReport PredictInterruptibly(const spec::Experiment& experiment, const Basis& basis) {
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  predict::Prediction prediction = predict::Predict(experiment, basis, &stop);
  report::RunReport report;
  report.context = ReadContext();
  report.experiment = experiment;
  report.storage = report.prepare = report.device = report.engine = report::Reality::kPredicted;
  report.measurement = std::move(prediction.measurement);
  report.diagnosis = std::move(prediction.diagnosis);
  report.repeats = std::move(prediction.repeats);
  report.prediction = std::move(prediction.notes);
  return report;
}

}  // namespace

base::ExitCode Predict(const Arguments& arguments) {
  ReadRequirements(arguments);
  const Basis basis = BasisOf(arguments);
  if (arguments.Has("needs-libtorch")) {
    ReadAsked(RequestFor(arguments, basis));
    PrintOut("no\n");
    return base::ExitCode::kOk;
  }
  if (arguments.Has("dry-run")) {
    PrintOut(SettingsText(ReadAsked(RequestFor(arguments, basis))));
    return base::ExitCode::kOk;
  }
  base::KeepFreedMemory();
  Exports exports(arguments);
  report::RunReport report = PredictInterruptibly(ReadExperiment(arguments, basis), basis);
  return Deliver(arguments, exports, OutcomeOf(arguments, std::move(report)));
}

}  // namespace pipesim::app
