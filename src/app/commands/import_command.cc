// What other programs describe or record, as an experiment: a workload of DLIO (MLPerf Storage), a
// trace of PyTorch's profiler with its verdict.
#include <fmt/format.h>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/installation.h"
#include "base/files.h"
#include "base/text.h"
#include "interop/dlio.h"
#include "interop/dlio_experiment.h"
#include "interop/trace_verdict.h"
#include "spec/read.h"

namespace pipesim::app {
namespace {

/// Each accelerator is simulated (spec/run_section.cc).
constexpr std::int64_t kMostAccelerators = 1024;

int AcceleratorsOf(const Arguments& arguments) {
  const auto text = arguments.Last("accelerators");
  if (!text) return 1;
  const auto number = base::WholeNumber<std::int64_t>(*text);
  if (!number || *number < 1 || *number > kMostAccelerators)
    throw base::UsageError(fmt::format("--accelerators takes a number from 1 to {}, not '{}'",
                                       kMostAccelerators, base::Printable(*text)));
  return static_cast<int>(*number);
}

struct Imported {
  std::string experiment;
  std::string said = {};                ///< what the file itself says, beside the experiment
  std::vector<std::string> flags = {};  ///< of the first prediction: what the file does not say
  base::ExitCode code = base::ExitCode::kOk;
};

Imported FromDlio(const Arguments& arguments, const std::string& file, std::string_view yaml) {
  if (!interop::LooksLikeDlio(yaml)) {
    base::Problem problem;
    problem.source = base::Printable(file);
    problem.what = "this is no DLIO workload: it has none of reader, train, workflow and framework";
    problem.suggestion = "a file such as configs/dlio/unet3d_h100.yaml";
    throw base::ConfigError({problem});
  }
  const interop::DlioWorkload workload =
      interop::ReadDlio(yaml, file, RequestOf(arguments).overrides);
  Imported imported{interop::ExperimentText(workload, AcceleratorsOf(arguments), file)};
  if (!workload.in_memory) imported.flags = {"--set", "storage.preset=nvme"};
  return imported;
}

Imported FromTrace(const Arguments& arguments, const std::string& file) {
  if (arguments.Has("accelerators") || arguments.Has("set"))
    throw base::UsageError("--accelerators and --set are for workloads; a trace has neither");
  const interop::TraceSummary trace = interop::ReadProfilerTrace(file);
  const interop::TraceVerdict verdict = interop::Judge(trace);
  return {interop::ExperimentText(trace, verdict, file),
          interop::VerdictText(trace, verdict, file),
          {},
          trace.broken.empty() ? base::ExitCode::kOk : base::ExitCode::kRunFailed};
}

/// The command that predicts the experiment in `file`.
std::string NextText(const std::string& file, const std::vector<std::string>& flags) {
  std::vector<std::string> argv{"pipesim", "predict", file};
  argv.insert(argv.end(), flags.begin(), flags.end());
  return "Next  " + base::ShellJoin(argv) + "\n";
}

/// What a file asks for may be more than an experiment takes. Throws base::ConfigError then.
void RequireUsable(const std::string& experiment) {
  spec::ReadExperimentText(experiment, "the imported experiment", {}, FindDataFolders());
}

}  // namespace

base::ExitCode Import(const Arguments& arguments) {
  if (arguments.positional.size() != 1)
    throw base::UsageError("`pipesim import` takes one file, such as configs/dlio/unet3d_h100.yaml");
  const std::string& file = arguments.positional[0];
  std::optional<base::OutputFile> out;
  if (const auto path = arguments.Last("out")) out.emplace(*path);
  const Imported imported = interop::LooksLikeTrace(file)
                                ? FromTrace(arguments, file)
                                : FromDlio(arguments, file, base::ReadFile(file));
  RequireUsable(imported.experiment);
  if (!out) return PrintOut(imported.experiment), imported.code;
  out->Commit(imported.experiment);
  PrintOut(imported.said);
  const std::string path = out->path().string();
  PrintOut(fmt::format("written: {}\n{}", base::Printable(path), NextText(path, imported.flags)));
  return imported.code;
}

}  // namespace pipesim::app
