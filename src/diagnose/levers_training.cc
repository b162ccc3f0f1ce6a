// Levers from a finished batch to a finished step, and the ceilings.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cost/memory_plan.h"
#include "diagnose/levers.h"
#include "diagnose/texts.h"
#include "spec/drawn_text.h"

namespace pipesim::diagnose {
namespace {

using Levers = std::vector<Lever>;
using Edit = std::function<void(Variant&)>;

Change ChangeBy(Edit edit) {
  return [edit = std::move(edit)](Variant v) {
    edit(v);
    return v;
  };
}

/// A flag that lowers one demand.
Lever FlagLever(std::string text, std::string path, std::string value, Demand eases, Edit edit) {
  Lever lever{.takes = Takes::kFlag,
              .acts = eases == Demand::kTransfer ? Acts::kOnData : Acts::kOnCompute,
              .eases = eases,
              .feasible_here = true};
  lever.setting = {std::move(text), {{std::move(path), std::move(value)}}, ChangeBy(std::move(edit))};
  return lever;
}

/// Pinning copies each batch once more. Where that was not measured, it costs what collating does.
void AddPinned(Levers& levers, const Question& q) {
  if (cost::CopiesFromPinned(q.now.settings.loader)) return;
  levers.push_back(
      FlagLever(std::string(kPinned), "loader.pin_memory", "true", Demand::kTransfer, [](Variant& v) {
        v.settings.loader.pin_memory = true;
        if (!v.pipeline.pin.bandwidth) v.pipeline.pin.bandwidth = v.pipeline.collate.bandwidth;
      }));
}

/// Not for worker processes, which cannot write memory that the trainer's process has locked.
void AddCollatePinned(Levers& levers, const Question& q) {
  const spec::Loader& loader = q.now.settings.loader;
  if (loader.collate_into == spec::CollateInto::kPinned || loader.kind == spec::LoaderKind::kProcess) return;
  const auto& pipeline = q.now.pipeline;
  const bool pins = pipeline.pin.Time(pipeline.samples.prepared) > base::Duration::zero();
  if (loader.pin_memory && !pins) return;  // nothing to spare
  Lever lever = FlagLever(
      std::string(kCollatePinned), "loader.collate_into", "pinned", Demand::kTransfer,
      [](Variant& v) { v.settings.loader.collate_into = spec::CollateInto::kPinned; });
  lever.takes = Takes::kCode;
  levers.push_back(std::move(lever));
}

/// A quarter of the bytes of float32; the device casts them (engine/torch/training_step.h).
void AddUint8(Levers& levers, const Question& q) {
  const spec::DType dtype = q.experiment.dataset.dtype;
  if (dtype == spec::DType::kUint8 || dtype == spec::DType::kInt64) return;
  spec::Dataset smaller = q.experiment.dataset;
  smaller.dtype = spec::DType::kUint8;
  Lever lever = FlagLever(std::string(kUint8), "dataset.dtype", "uint8", Demand::kTransfer,
                          [bytes = spec::PreparedBytes(smaller)](Variant& v) {
                            v.pipeline.samples.prepared = bytes;
                          });
  lever.takes = Takes::kCode;
  levers.push_back(std::move(lever));
}

void AddCopies(Levers& levers, const Question& q) {
  if (!IsThere(q.now, Demand::kTransfer) || q.now.on_cpu()) return;
  AddPinned(levers, q);
  AddCollatePinned(levers, q);
  AddUint8(levers, q);
  const Settings& now = q.now.settings;
  if (!now.transfer.overlap) {
    levers.push_back(FlagLever("copies beside steps", "transfer.overlap", "true", Demand::kTransfer,
                               [](Variant& v) { v.settings.transfer.overlap = true; }));
  }
  if (!now.transfer.non_blocking) {
    levers.push_back(FlagLever("non_blocking copies", "transfer.non_blocking", "true",
                               Demand::kTransfer,
                               [](Variant& v) { v.settings.transfer.non_blocking = true; }));
  }
}

void AddInFlight(Levers& levers, const Question& q) {
  const int steps = q.now.settings.in_flight;
  if (q.now.on_cpu() || steps > 1) return;
  Lever lever = FlagLever(fmt::format("in flight {} to 2", steps), "device.in_flight", "2",
                          Demand::kLaunch, [](Variant& v) { v.settings.in_flight = 2; });
  lever.acts = Acts::kOnBoth;  // copies and launches both hide behind steps
  levers.push_back(std::move(lever));
}

/// A graph would freeze adam's count of steps. A measured step is of another program, whose kernels are not known.
bool CanUseGraph(const Question& q) {
  const spec::Training& training = q.experiment.training;
  return !q.experiment.device.step && !training.cuda_graph && training.optimizer != spec::Optimizer::kAdam;
}

/// One launch for the step's graph instead of one for each kernel.
void AddGraph(Levers& levers, const Question& q) {
  if (q.now.on_cpu() || !CanUseGraph(q)) return;
  if (q.now.pipeline.step.launch == base::Duration::zero()) return;
  const int launches = std::max(
      1, cost::LaunchesOfStep(q.experiment.model, q.experiment.dataset.shape, q.experiment.training));
  levers.push_back(FlagLever(std::string(kCudaGraph), "model.cuda_graph", "true", Demand::kLaunch,
                             [launches](Variant& v) {
                               v.pipeline.step.launch /= launches;
                               v.pipeline.step.gap /= launches;
                             }));
}

/// Not where a stated step costs no launch: that is one that the loop itself waits in, as recordings and traces of such
/// loops describe it.
void AddReadBacks(Levers& levers, const Question& q) {
  const std::int64_t every = q.experiment.training.sync_every;
  const spec::Device& device = q.experiment.device;
  const bool stated = device.kind == spec::DeviceKind::kEmulated && !device.preset;
  const bool waits = stated && q.now.pipeline.step.launch == base::Duration::zero();
  if (every <= 0 || waits) return;
  constexpr std::int64_t kRarer = 10;
  levers.push_back(FlagLever(std::string(kNoSync), "model.sync_every", "0", Demand::kSync,
                             [](Variant& v) { v = Free(v, Demand::kSync); }));
  levers.push_back(FlagLever(fmt::format("sync every {} to {}", every, kRarer * every),
                             "model.sync_every", std::to_string(kRarer * every), Demand::kSync,
                             [every](Variant& v) { v.settings.sync_every = kRarer * every; }));
}

/// The experiment on an emulated device of this preset.
spec::Experiment OnPreset(const Question& q, const spec::DevicePreset& preset) {
  spec::Experiment other = q.experiment;
  other.device = {};
  other.device.kind = spec::DeviceKind::kEmulated;
  other.device.in_flight = q.now.settings.in_flight;
  other.device.preset = preset;
  return other;
}

Lever DeviceLever(const Question& q, const spec::DevicePreset& preset) {
  const cost::Pipeline stated = cost::Stated(OnPreset(q, preset));
  const int in_flight = q.now.settings.in_flight;
  Lever lever{.takes = Takes::kDevice,
              .acts = q.now.on_cpu() ? Acts::kOnCompute : Acts::kOnBoth,
              .eases = Demand::kStep};
  lever.setting.text = "device to " + preset.name;
  lever.setting.set = {
      {"device", in_flight == spec::Device{}.in_flight
                     ? preset.name
                     : fmt::format("{{name: {}, in_flight: {}}}", preset.name, in_flight)}};
  lever.setting.change = ChangeBy([stated, pin = q.experiment.loader.pin_memory](Variant& v) {
    v.pipeline.step = stated.step;
    v.pipeline.transfer = stated.transfer;
    v.settings.loader.pin_memory = pin;
  });
  return lever;
}

/// A measured step is of the user's model. Where the experiment does not name it, a preset's roofline would be the
/// default model's.
bool StepIsOfAnotherModel(const spec::Experiment& experiment) {
  const auto model = experiment.settings.find("model.name");
  return experiment.device.step && model != experiment.settings.end() &&
         model->second.origin == spec::Origin::kDefault;
}

/// Of the presets that gain and hold the model, by the bounds: the slowest one, and the slowest
/// that is enough. None beside a GPU that was measured: a roofline and a measurement are not
/// compared.
void AddDevicePresets(Levers& levers, const Question& q) {
  const spec::Device& device = q.experiment.device;
  if ((!q.now.on_cpu() && !device.preset) || StepIsOfAnotherModel(q.experiment)) return;
  Levers presets;
  for (const spec::DevicePreset& preset : q.offers.presets.devices) {
    if (device.preset && device.preset->name == preset.name) continue;
    Lever lever = DeviceLever(q, preset);
    const Variant after = lever.setting.change(q.now);
    if (cost::DeviceMemoryRefusal(OnPreset(q, preset), after.pipeline.step)) continue;
    presets.push_back(std::move(lever));
  }
  AddSlowestThatHelp(levers, std::move(presets), q);
}

void AddPrecisionOf(Levers& levers, const Question& q, spec::Precision precision,
                    std::string_view word) {
  spec::Experiment other = q.experiment;
  other.training.precision = precision;
  const cost::Step step = cost::StatedStepOf(other);
  Lever lever = FlagLever(fmt::format("precision fp32 to {}", word), "model.precision",
                          std::string(word), Demand::kStep,
                          [cost = step.cost](Variant& v) { v.pipeline.step.cost = cost; });
  lever.changes_training = true;
  levers.push_back(std::move(lever));
}

/// Only on a preset's roofline, which knows all precisions.
void AddPrecision(Levers& levers, const Question& q) {
  const spec::Device& device = q.experiment.device;
  if (!device.preset || device.step_base) return;
  if (q.experiment.training.precision != spec::Precision::kFp32) return;
  if (device.preset->tf32_flops_per_s > device.preset->fp32_flops_per_s)
    AddPrecisionOf(levers, q, spec::Precision::kTf32, "tf32");
  if (device.preset->bf16_flops_per_s > 0)
    AddPrecisionOf(levers, q, spec::Precision::kBf16, "bf16");
}

/// A stated step can be stated twice as fast.
std::vector<std::pair<std::string, std::string>> StepHalved(const spec::Device& device) {
  if (device.kind != spec::DeviceKind::kEmulated || !device.step_base) return {};
  return {{"device.emulated.base", spec::ToText(device.step_base->Scaled(0.5))},
          {"device.emulated.per_sample", spec::ToText(device.step_per_sample.Scaled(0.5))}};
}

void AddDevice(Levers& levers, const Question& q) {
  const auto word = TrainerWord(q.measurement);
  Lever faster{.takes = Takes::kDevice, .acts = Acts::kOnCompute, .eases = Demand::kStep};
  faster.only_helps = true;
  faster.setting = {word == "CPU" ? "device x2" : fmt::format("{} x2", word),
                    StepHalved(q.experiment.device),
                    [](const Variant& v) { return Scaled(v, Demand::kStep, 0.5); }};
  levers.push_back(std::move(faster));
  AddDevicePresets(levers, q);
  AddPrecision(levers, q);
}

/// Training on one thread, whose step is known where more of them train.
void AddOneThread(Levers& levers, const Question& q) {
  const int threads = q.now.ComputeThreads();
  if (threads < 2 || !q.now.pipeline.step.one_thread) return;
  // What it leaves of the cores to loading, free compute leaves, too.
  Lever lever{.setting = ComputeThreads(q.now, 1), .acts = Acts::kOnCompute, .feasible_here = true};
  levers.push_back(std::move(lever));
}

/// Training on all cores: fewer threads, which leave a core to each of as many workers as keep up with them.
void AddThreadsBesideWorkers(Levers& levers, const Question& q) {
  const int threads = q.now.ComputeThreads();
  const bool on_all_cores = q.now.settings.accelerators == 1 && q.now.cores() > 0 && threads >= q.now.cores();
  if (!on_all_cores || !q.now.pipeline.step.one_thread || q.now.settings.loader.opaque) return;
  for (int workers = 1; threads - workers > 1; ++workers) {
    Setting fewer = ComputeThreads(q.now, threads - workers);
    const Variant trains = fewer.change(q.now);
    const double loaded = PredictByBounds(FreeCompute(Workers(trains, workers).change(trains)));
    if (loaded < q.thresholds.enough_share * PredictByBounds(FreeData(trains))) continue;
    levers.push_back({.setting = std::move(fewer), .acts = Acts::kOnCompute, .feasible_here = true});
    return;
  }
}

/// Twice the cores; a CPU that trains keeps its threads.
void AddCores(Levers& levers, const Question& q) {
  const double cores = q.now.cores();
  if (!(cores > 0) || cores != std::floor(cores) || cores > 1e6) return;
  const auto twice = static_cast<int>(2 * cores);
  Lever lever{.takes = Takes::kDevice, .acts = Acts::kOnBoth, .eases = Demand::kLoadingCpu};
  lever.only_helps = true;
  lever.setting.text = fmt::format("cores {:.0f} to {}", cores, twice);
  lever.setting.set = {{"limits.cpus", std::to_string(twice)}};
  if (const int threads = q.now.ComputeThreads(); threads > 0)
    lever.setting.set.emplace_back("limits.compute_threads", std::to_string(threads));
  lever.setting.change = ChangeBy([twice](Variant& v) {
    v.pipeline.machine.cores = twice;
    v.pipeline.machine.processors *= 2;
  });
  levers.push_back(std::move(lever));
}

/// Whether a command of its own would be refused for its memory.
bool IsRefused(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  if (cost::DeviceMemoryRefusal(experiment, pipeline.step)) return true;
  const auto& free = pipeline.machine.free_memory;
  return free && cost::MemoryRefusal(experiment, {.name = {}, .free = *free});
}

Lever Batch(std::int64_t now, std::int64_t then) {
  Lever lever{.takes = Takes::kFlag, .acts = Acts::kOnBoth, .changes_training = true};
  lever.setting = {fmt::format("batch {} to {}", now, then),
                   {{"loader.batch_size", std::to_string(then)}},
                   ChangeBy([then](Variant& v) { v.settings.loader.batch_size = then; })};
  return lever;
}

/// Twice the batch, and half of it where that gains by bounds: a step may take more than in proportion.
void AddBatch(Levers& levers, const Question& q) {
  const std::int64_t batch = q.experiment.loader.batch_size;
  spec::Experiment doubled = q.experiment;
  doubled.loader.batch_size = 2 * batch;
  if (!IsRefused(doubled, q.now.pipeline)) levers.push_back(Batch(batch, 2 * batch));
  Lever half = Batch(batch, batch / 2);
  if (batch >= 2 && Gain(q.quick(q.now), q.quick(half.setting.change(q.now))) >= q.thresholds.gain_that_counts)
    levers.push_back(std::move(half));
}

Lever CeilingOf(std::string_view text, Change change) {
  Lever lever{.takes = Takes::kNothing, .acts = Acts::kOnBoth};
  lever.only_helps = true;
  lever.setting = {std::string(text), {}, std::move(change)};
  return lever;
}

Lever WithoutDemand(std::string_view text, Demand demand) {
  Lever lever = CeilingOf(text, [demand](const Variant& v) { return Free(v, demand); });
  lever.acts = demand == Demand::kTransfer ? Acts::kOnData : Acts::kOnCompute;
  lever.eases = demand;
  return lever;
}

}  // namespace

std::vector<Lever> TrainingLevers(const Question& q) {
  Levers levers;
  AddCopies(levers, q);
  AddInFlight(levers, q);
  AddGraph(levers, q);
  AddReadBacks(levers, q);
  AddDevice(levers, q);
  AddOneThread(levers, q);
  AddThreadsBesideWorkers(levers, q);
  AddCores(levers, q);
  AddBatch(levers, q);
  return levers;
}

std::vector<Lever> Ceilings(const Question& q) {
  Levers levers = {CeilingOf(kFreeData, FreeData), CeilingOf(kFreeCompute, FreeCompute)};
  if (IsThere(q.now, Demand::kTransfer))
    levers.push_back(WithoutDemand(kFreeCopies, Demand::kTransfer));
  if (IsThere(q.now, Demand::kLaunch) && !CanUseGraph(q))
    levers.push_back(WithoutDemand(kFreeLaunch, Demand::kLaunch));
  if (IsThere(q.now, Demand::kOtherHost))
    levers.push_back(WithoutDemand(kFreeHost, Demand::kOtherHost));
  return levers;
}

}  // namespace pipesim::diagnose
