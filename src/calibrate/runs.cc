#include "calibrate/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/roofline.h"
#include "measure/fit.h"
#include "spec/yaml_tree.h"

namespace pipesim::calibrate {
namespace {

using Changes = std::vector<spec::Override>;

/// A batch of photographs: 64 of 147 KiB.
constexpr std::int64_t kBatch = 64;
constexpr const char* kPhotos = "{samples: 100k, shape: [3, 224, 224], classes: 10}";
constexpr double kBatchBytes = kBatch * 3.0 * 224 * 224;

spec::Override Change(std::string path, std::string value) {
  return {std::move(path), std::move(value), "calibrate"};
}

Changes Loading(int workers, const std::string& dataset) {
  return {Change("model", "linear"),
          Change("dataset", dataset),
          Change("device", "{emulated: {base: 0}}"),
          Change("loader.workers", std::to_string(workers)),
          Change("loader.batch_size", std::to_string(kBatch)),
          Change("storage", "none"),
          Change("prepare", "none"),
          Change("run.duration", "300ms")};
}

Changes Files(const std::filesystem::path& folder, const char* cache, int workers) {
  Changes changes = Loading(workers, kPhotos);
  for (spec::Override& change : changes) {
    if (change.path == "dataset") change.value = "{shape: [3, 224, 224]}";
    if (change.path == "storage")
      change.value = fmt::format("{{kind: files, path: {}, cache: {}}}",
                                 spec::QuoteYaml(folder.string()), cache);
  }
  return changes;
}

std::optional<StepTimes> StepIn(const std::optional<measure::Measurement>& measured,
                                const spec::Experiment& experiment) {
  if (!measured) return std::nullopt;
  return StepTimes{.step_s = measured->demands.step_s.value_or(0),
                   .host_s = measured->demands.host_s.value_or(0),
                   .gap_s = base::ToSeconds(measure::LaunchGap(*measured, experiment))};
}

spec::Experiment ReadChanged(const Changes& changes, const spec::DataFolders& folders) {
  return spec::ReadExperimentText("version: 1", "calibrate", changes, folders).experiment;
}

}  // namespace

spec::Experiment ExperimentOf(const std::string& model, const spec::DataFolders& folders) {
  return ReadChanged({Change("model", model)}, folders);
}

spec::Experiment ProbeRuns::Changed(const Changes& changes) const {
  return ReadChanged(changes, folders_);
}

std::optional<measure::Measurement> ProbeRuns::Run(const Changes& changes) const {
  if (stop_ != nullptr && stop_->IsSet()) return std::nullopt;
  return runner_.here(Changed(changes));
}

std::optional<double> ProbeRuns::CollateBytesPerSecond(int workers) const {
  const auto measured = Run(Loading(workers, kPhotos));
  if (!measured || !measured->demands.collate_s || *measured->demands.collate_s <= 0)
    return std::nullopt;
  return workers * kBatchBytes / *measured->demands.collate_s;
}

std::optional<double> ProbeRuns::FaultBytesPerSecond() const {
  Changes fresh = Loading(1, kPhotos);
  fresh.push_back(Change("loader.buffers", "fresh"));
  const auto with = Run(fresh), without = Run(Loading(1, kPhotos));
  if (!with || !without || !with->demands.collate_s || !without->demands.collate_s)
    return std::nullopt;
  const double faults_s = *with->demands.collate_s - *without->demands.collate_s;
  if (faults_s <= 0) return std::nullopt;
  return kBatchBytes / faults_s;
}

std::optional<double> ProbeRuns::CollateBatchSeconds() const {
  const auto measured = Run(Loading(1, "{samples: 100k, shape: [1], classes: 10}"));
  return measured ? measured->demands.collate_s : std::nullopt;
}

std::optional<ProbeRuns::Decoding> ProbeRuns::DecodeFiles(
    const std::filesystem::path& folder) const {
  Changes changes = Files(folder, "warm", 1);
  changes.push_back(Change("prepare", "{kind: decode}"));
  changes.push_back(Change("run.duration", "1s"));
  const auto measured = Run(changes);
  if (!measured) return std::nullopt;
  const measure::Demands& demands = measured->demands;
  const auto rate = [&](std::optional<double> cpu_s) {
    return cpu_s && *cpu_s > 0 ? std::optional(demands.bytes / *cpu_s) : std::nullopt;
  };
  return Decoding{rate(demands.read_cpu_s), rate(demands.prepare_cpu_s)};
}

std::optional<ProbeRuns::Reading> ProbeRuns::ColdReading(
    const std::filesystem::path& folder) const {
  const auto with = [&](int workers) {
    Changes changes = Files(folder, "cold", workers);
    changes.push_back(Change("run.epochs", "1"));
    changes.push_back(Change("run.warmup", "0"));
    return Run(changes);
  };
  const auto one = with(1), many = with(16);
  if (!one || !many || !one->demands.read_s || one->demands.reads <= 0) return std::nullopt;
  const double bytes_per_s = many->resources.storage_bytes_per_s;
  if (bytes_per_s <= 0) return std::nullopt;
  const double read_s = *one->demands.read_s / one->demands.reads;
  return Reading{std::max(0.0, read_s - one->demands.bytes / one->demands.reads / bytes_per_s),
                 bytes_per_s};
}

std::optional<StepTimes> ProbeRuns::StepOf(const std::string& model, int threads,
                                           std::int64_t batch, double expected_s,
                                           base::Duration pause) const {
  // A process is slower at first; this warm-up is long enough.
  constexpr double kSeconds = 0.5;
  constexpr int kFewest = 8, kFewestPaused = 24;
  const bool pauses = pause > base::Duration::zero();
  const int fewest = pauses ? kFewestPaused : kFewest;
  const auto setting = [&](const char* path) { return Change(path, base_.settings.at(path).text); };
  // A thread that also collates launches kernels more slowly: on an H200 those of mlp, batch 512, in 0.80 to 0.85 ms
  // instead of 0.59, which runs with workers take, too.
  const bool on_cpu = base_.device.kind == spec::DeviceKind::kCpu;
  const Changes changes{Change("model", model),
                        setting("model.precision"),
                        setting("model.optimizer"),
                        setting("limits.omp_wait"),
                        Change("device", spec::ToText(base_.device.Id())),
                        Change("limits.compute_threads", std::to_string(threads)),
                        Change("loader.workers", on_cpu ? "0" : "2"),
                        Change("loader.pin_memory", on_cpu ? "false" : "true"),
                        Change("loader.batch_size", std::to_string(batch)),
                        Change("loader.drop_last", "true"),
                        Change("storage", "none"),
                        Change("prepare", pauses ? fmt::format("{{kind: burn, cost: {}ns}}", pause.count() / batch)
                                                 : "none"),
                        fewest * (expected_s + base::ToSeconds(pause)) > kSeconds
                            ? Change("run.steps", std::to_string(fewest))
                            : Change("run.duration", fmt::format("{}s", kSeconds))};
  const auto step = on_cpu ? runner_.apart(changes) : StepIn(Run(changes), Changed(changes));
  return step && step->step_s > 0 ? step : std::nullopt;
}

std::optional<double> ProbeRuns::PoolSpinSeconds() const {
  constexpr int kThreads = 2;
  const auto measured = Run(
      {Change("model", "mlp"), Change("device", "cpu"),
       Change("limits.compute_threads", std::to_string(kThreads)), Change("loader.workers", "1"),
       Change("loader.batch_size", "1"), Change("storage", "none"),
       Change("prepare", "{kind: wait, cost: 20ms}"), Change("run.duration", "1s")});
  if (!measured || !measured->resources.cores_used || !measured->demands.step_s)
    return std::nullopt;
  const double cpu_s = *measured->resources.cores_used * measured->result.measured_s /
                       static_cast<double>(measured->result.steps);
  const double spin_s = cpu_s - kThreads * *measured->demands.step_s;
  return spin_s > 0 ? std::optional(spin_s / (kThreads - 1)) : std::nullopt;
}

std::optional<double> ProbeRuns::DenseFlopsPerSecond(int threads) const {
  constexpr std::int64_t kSamples = 256;
  const Changes changes{
      Change("model",
             "{layers: [linear: {out: 2048}, linear: {out: 2048}, linear: {out: classes}]}"),
      Change("dataset", "{samples: 100k, shape: [2048], dtype: float32, classes: 1000}"),
      Change("device", "cpu"),
      Change("limits.compute_threads", std::to_string(threads)),
      Change("loader.workers", "0"),
      Change("loader.batch_size", std::to_string(kSamples)),
      Change("storage", "none"),
      Change("prepare", "none"),
      Change("run.steps", "20")};
  const auto measured = Run(changes);
  if (!measured || !measured->demands.step_s || *measured->demands.step_s <= 0) return std::nullopt;
  const spec::Experiment experiment = Changed(changes);
  spec::DevicePreset any;
  any.fp32_flops_per_s = 1;
  any.memory_bandwidth = {1};
  any.efficiency = 1;
  return cost::EstimateStep(experiment.model, experiment.dataset.shape, experiment.training, any,
                            kSamples)
             .flops /
         *measured->demands.step_s;
}

std::optional<ProbeRuns::Copying> ProbeRuns::CopyToDevice() const {
  const auto with = [&](std::int64_t batch, bool pinned) {
    Changes changes = Loading(1, kPhotos);
    changes.push_back(Change("device", spec::ToText(base_.device.Id())));
    changes.push_back(Change("loader.pin_memory", pinned ? "true" : "false"));
    changes.push_back(Change("loader.batch_size", std::to_string(batch)));
    changes.push_back(Change("run.duration", "1s"));
    return Run(changes);
  };
  constexpr std::int64_t kFew = 1, kMany = 256;
  const auto few = with(kFew, true), many = with(kMany, true), pageable = with(kMany, false);
  if (!few || !many || !pageable || !few->demands.h2d_s || !many->demands.h2d_s ||
      !many->demands.pin_s || !pageable->demands.h2d_s)
    return std::nullopt;
  const double sample_bytes = kBatchBytes / kBatch;
  const double slope_s = (*many->demands.h2d_s - *few->demands.h2d_s) / (kMany - kFew);
  if (slope_s <= 0 || *many->demands.pin_s <= 0 || *pageable->demands.h2d_s <= 0)
    return std::nullopt;
  return Copying{std::max(0.0, *few->demands.h2d_s - kFew * slope_s), sample_bytes / slope_s,
                 kMany * sample_bytes / *pageable->demands.h2d_s,
                 kMany * sample_bytes / *many->demands.pin_s,
                 static_cast<double>(many->memory.device_total_bytes.value_or(0))};
}

}  // namespace pipesim::calibrate
