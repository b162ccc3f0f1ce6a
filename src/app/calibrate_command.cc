// Measures this machine into a profile for predict: a file that grows with every call.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/calibration.h"
#include "app/calibration_runs.h"
#include "app/command_line/arguments.h"
#include "app/delivery.h"
#include "app/process/interrupt.h"
#include "app/command_line/output.h"
#include "app/profile_text.h"
#include "app/progress_line.h"
#include "app/session.h"
#include "base/cpus.h"
#include "base/files.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

constexpr const char* kDefaultFile = "machine.yaml";

/// What the file holds already; it must be of this machine.
std::optional<spec::MachineProfile> OlderProfile(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  spec::MachineProfile older =
      spec::ReadMachineProfileText(base::ReadFile(file), file.string());
  const std::string here = base::CpuModelName();
  if (older.cpu != here) {
    throw base::EnvironmentError(
        fmt::format("{} was measured on another machine ({}; here: {}): name another file by --out",
                    base::Printable(file.string()), older.cpu, here));
  }
  return older;
}

CalibrationPlan PlanOf(const Arguments& arguments) {
  CalibrationPlan plan;
  plan.experiment = ReadAsked(RequestOf(arguments));
  plan.experiment.run.accelerators = 1;  // of its parts, each is measured alone
  if (plan.experiment.storage.kind == spec::StorageKind::kFiles) {
    plan.folder = plan.experiment.storage.path;
    CountSamples(plan.experiment);  // a folder without samples is found out now
  }
  PrepareMachine(plan.experiment);
  plan.models = arguments.All("also");
  const std::string& own = plan.experiment.model.reference;
  if (!own.empty()) plan.models.insert(plan.models.begin(), own);
  for (const std::string& model : plan.models) ExperimentOf(model);  // a slip is found out now
  return plan;
}

std::optional<spec::MachineProfile> CalibrateInterruptibly(const CalibrationPlan& plan,
                                                           bool quiet) {
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  ProgressLine line(stderr, isatty(STDERR_FILENO) != 0);
  CalibrationControl control;
  control.stop = &stop;
  if (!quiet)
    control.on_progress = [&](std::string_view doing, double share) {
      line.ShowPreparing(doing, share);
    };
  return Calibrate(plan, control);
}

}  // namespace

base::ExitCode Calibrate(const Arguments& arguments) {
  const std::string file = arguments.Last("out").value_or(kDefaultFile);
  const auto older = OlderProfile(file);
  if (arguments.Has("needs-libtorch")) {
    PrintOut(NeedsTorch(ReadAsked(RequestOf(arguments))) ? "yes\n" : "no\n");
    return base::ExitCode::kOk;
  }
  const CalibrationPlan plan = PlanOf(arguments);
  base::OutputFile out{file};
  auto profile = CalibrateInterruptibly(plan, arguments.Has("quiet"));
  if (!profile) {
    fmt::print(stderr, "pipesim: interrupted; {} is as it was\n", base::Printable(file));
    return base::ExitCode::kInterrupted;
  }
  if (older) profile = Merged(*older, *profile);
  out.Commit(spec::WriteProfile(*profile));
  PrintOut(ProfileText(*profile, file));
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
