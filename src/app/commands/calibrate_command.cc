// Measures this machine into a profile for predict: a file that grows with every call.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/installation.h"
#include "app/process/interrupt.h"
#include "app/process/supervisor.h"
#include "app/progress_line.h"
#include "app/commands/python_costs.h"
#include "app/session.h"
#include "app/torch_library.h"
#include "base/cpus.h"
#include "base/files.h"
#include "base/neighbours.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "calibrate/calibration.h"
#include "measure/repeats.h"
#include "report/profile_text.h"

namespace pipesim::app {
namespace {

constexpr const char* kDefaultFile = "machine.yaml";

/// The profile that the file already holds. Throws when it is of another machine.
std::optional<spec::MachineProfile> OlderProfile(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  spec::MachineProfile older = spec::ReadMachineProfileText(base::ReadFile(file), file.string());
  const std::string here = base::CpuModelName();
  if (older.cpu != here) {
    throw base::EnvironmentError(fmt::format(
        "{} was measured on another machine ({}; here: {}): name another file with --out",
        base::Printable(file.string()), older.cpu, here));
  }
  return older;
}

calibrate::Plan PlanOf(const Arguments& arguments) {
  calibrate::Plan plan;
  plan.experiment = ReadAsked(RequestOf(arguments));
  plan.experiment.run.accelerators = 1;  // each part is measured alone
  if (plan.experiment.storage.kind == spec::StorageKind::kFiles) {
    plan.folder = plan.experiment.storage.path;
    CountSamples(plan.experiment);  // throws now for a folder without samples
  }
  PrepareMachine(plan.experiment);
  plan.models = arguments.All("also");
  const std::string& own = plan.experiment.model.reference;
  if (!own.empty()) plan.models.insert(plan.models.begin(), own);
  plan.data = FindDataFolders();
  for (const std::string& model : plan.models)
    calibrate::ExperimentOf(model, plan.data);  // throws now for an unknown model
  const report::Context context = ReadContext();
  plan.program = fmt::format("{} ({})", context.version, context.commit);
  plan.date = context.date.substr(0, 10);
  const spec::DeviceId device = plan.experiment.device.Id();
  if (device.IsCuda())
    plan.gpu = LoadTorch().devices().at(static_cast<std::size_t>(device.index)).device_name;
  return plan;
}

std::optional<measure::Measurement> RunHere(spec::Experiment experiment,
                                            const base::StopFlag* stop) {
  PrepareMachine(experiment);
  engine::RunControl control;
  control.stop = stop;
  measure::Measurement measured = MeasureOnce(experiment, control);
  if (!measure::Finished(measured.result)) return std::nullopt;
  return measured;
}

/// `pipesim run` with these settings.
std::optional<calibrate::StepTimes> RunApart(const std::vector<spec::Override>& changes,
                                             const base::StopFlag* stop) {
  std::vector<std::string> words{"run", "--quiet", "--no-save"};
  for (const spec::Override& change : changes) {
    words.push_back("--set");
    words.push_back(change.path + "=" + change.value);
  }
  const Outcome outcome = RunBeside(words, stop);
  if (outcome.code != base::ExitCode::kOk) return std::nullopt;
  const auto seconds = [&](const char* demand) {
    const auto& value = outcome.document.at("demands").at(demand);
    return value.is_number() ? value.get<double>() : 0;
  };
  return calibrate::StepTimes{.step_s = seconds("step_s"), .host_s = seconds("host_s")};
}

std::optional<spec::MachineProfile> CalibrateInterruptibly(const calibrate::Plan& plan,
                                                           bool quiet) {
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  ProgressLine line(stderr, isatty(STDERR_FILENO) != 0);
  calibrate::Control control;
  control.stop = &stop;
  control.runner.here = [&stop](spec::Experiment experiment) {
    return RunHere(std::move(experiment), &stop);
  };
  control.runner.apart = [&stop](const std::vector<spec::Override>& changes) {
    return RunApart(changes, &stop);
  };
  if (!quiet)
    control.on_progress = [&](std::string_view doing, double share) {
      line.ShowPreparing(doing, share);
    };
  return calibrate::MeasureMachine(plan, control);
}

/// `older`, or a profile without figures, with what PyTorch's worker processes cost with `python`.
spec::MachineProfile WithPython(const std::string& python, bool quiet,
                                const std::optional<spec::MachineProfile>& older) {
  spec::MachineProfile profile = older.value_or(spec::MachineProfile{});
  const std::string source = MeasurePython(python, quiet, profile.figures);
  if (older) return profile;
  const report::Context context = ReadContext();
  profile.cpu = base::CpuModelName();
  profile.cores = base::ReadCpuAllowance().Cores();
  profile.date = context.date.substr(0, 10);
  profile.source =
      fmt::format("pipesim calibrate --python, {} ({}), {}", context.version, context.commit, source);
  return profile;
}

void Write(const spec::MachineProfile& profile, base::OutputFile& out, const std::string& file) {
  out.Commit(spec::WriteProfile(profile));
  PrintOut(report::ProfileText(profile, file));
}

void WarnOfOthers(const base::OthersWatch& others, double cores) {
  const double used = others.Cores().value_or(0);
  if (!measure::warnings::ForeignCpu::Counts(used, cores)) return;
  base::PrintError(fmt::format("pipesim: warning: other programs used {:.1f} of the {:.3g} allowed cores "
                               "meanwhile: some of these figures are theirs, too; calibrate again without them\n",
                               used, cores));
}

}  // namespace

base::ExitCode Calibrate(const Arguments& arguments) {
  const std::string file = arguments.Last("out").value_or(kDefaultFile);
  const auto older = OlderProfile(file);
  if (arguments.Has("needs-libtorch")) {
    const bool needs = !arguments.Has("python") && NeedsTorch(ReadAsked(RequestOf(arguments)));
    PrintOut(needs ? "yes\n" : "no\n");
    return base::ExitCode::kOk;
  }
  const base::CpuAllowance allowance = base::ReadCpuAllowance();
  const base::OthersWatch others(allowance.cpus);
  if (const auto python = arguments.Last("python")) {
    base::OutputFile out{file};
    Write(WithPython(*python, arguments.Has("quiet"), older), out, file);
    WarnOfOthers(others, allowance.Cores());
    return base::ExitCode::kOk;
  }
  const calibrate::Plan plan = PlanOf(arguments);
  base::OutputFile out{file};
  auto profile = CalibrateInterruptibly(plan, arguments.Has("quiet"));
  if (!profile) {
    base::PrintError(fmt::format("pipesim: interrupted; {} is {}\n", base::Printable(file),
                                 older ? "unchanged" : "not written"));
    return base::ExitCode::kInterrupted;
  }
  if (older) profile = calibrate::Merged(*older, *profile);
  Write(*profile, out, file);
  WarnOfOthers(others, allowance.Cores());
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
