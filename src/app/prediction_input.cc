#include "app/prediction_input.h"

#include <fmt/format.h>

#include "app/delivery.h"
#include "app/installation.h"
#include "app/kept_runs.h"
#include "app/measured_run.h"
#include "app/session.h"
#include "base/cpus.h"
#include "base/memory.h"
#include "base/text.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

constexpr const char* kDefaultProfile = "default";

std::optional<double> PrecisionOf(const Arguments& arguments) {
  const auto text = arguments.Last("precision");
  if (!text) return std::nullopt;
  const auto share = spec::ParseShare(*text);
  const double* const value = std::get_if<double>(&share);
  if (value == nullptr || !(*value > 0) || *value >= 1)
    throw base::UsageError(
        fmt::format("--precision takes a share such as 0.5%, not '{}'", base::Printable(*text)));
  return *value;
}

}  // namespace

predict::Basis BasisOf(const Arguments& arguments) {
  predict::Basis basis;
  basis.precision = PrecisionOf(arguments);
  const auto named = arguments.Last("profile");
  basis.profile_is_named = named.has_value();
  basis.profile =
      spec::ReadMachineProfile(named.value_or(kDefaultProfile), "--profile", FindDataFolders());
  if (const auto which = arguments.Last("from"))
    basis.run = ReadMeasuredRun(ReportFile(*which, StateFolder()).string());
  basis.presets = spec::ReadPresets(FindDataFolders());
  basis.cores_here = base::ReadCpuAllowance().Cores();
  basis.memory_here = base::ReadMemoryBounds();
  // Names the way out where this machine's memory is too little for a prediction of another one.
  if (!basis.profile_is_named && !basis.profile.figures.memory)
    for (base::MemoryBound& bound : basis.memory_here)
      bound.name += fmt::format(" (--profile {} has no such limit)", kDefaultProfile);
  return basis;
}

predict::Basis ForSearch(predict::Basis basis) {
  // A search asks about 20 values; at this length most predictions end earlier, decided.
  basis.longest_s = 0.1;
  return basis;
}

spec::Request PredictionRequest(const Arguments& arguments, const predict::Basis& basis) {
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

ExperimentReader::ExperimentReader(spec::Request request)
    : ExperimentReader(std::move(request), spec::ReadingOnce(FindDataFolders())) {}

ExperimentReader::ExperimentReader(spec::Request request, spec::DataFolders folders)
    : request_(std::move(request)), folders_(std::move(folders)), asked_(ReadAsked(request_)) {
  // A --from report has the figures of its folder, which need not exist on this machine.
  const spec::Dataset& dataset = asked_.dataset;
  counted_ = dataset.samples == 0 || dataset.sample_bytes.IsZero();
  if (counted_) CountSamples(asked_);
}

spec::Experiment ExperimentReader::With(const Changes& changes) const {
  std::vector<spec::Override> overrides;
  for (const auto& [path, value] : changes) overrides.push_back({path, value, "--set"});
  return WithOverrides(overrides);
}

spec::Experiment ExperimentReader::WithOverrides(const std::vector<spec::Override>& changes) const {
  spec::Request request = request_;
  request.overrides.insert(request.overrides.end(), changes.begin(), changes.end());
  spec::Experiment experiment = spec::ReadExperiment(request, folders_).experiment;
  SetCounted(experiment);
  return experiment;
}

void ExperimentReader::SetCounted(spec::Experiment& experiment) const {
  const spec::Dataset& dataset = asked_.dataset;
  if (counted_ && experiment.storage.kind == spec::StorageKind::kFiles)
    spec::SetFromData(experiment, dataset.samples, dataset.classes,
                      {static_cast<std::int64_t>(dataset.sample_bytes.in_units.Mean())});
}

}  // namespace pipesim::app
