#include "predict/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "cost/profile.h"
#include "cost/rates.h"

namespace pipesim::predict {
namespace {

using base::Duration;
using cost::Source;
using spec::DeviceKind;
using spec::Experiment;

[[noreturn]] void Refuse(std::string what, std::string remedy) {
  base::Problem problem;
  problem.source = "predict";
  problem.what = std::move(what);
  problem.suggestion = std::move(remedy);
  throw base::ConfigError({std::move(problem)});
}

base::Drawn<Duration> Fixed(double seconds) {
  return {base::Distribution::Fixed(static_cast<double>(base::FromSeconds(seconds).count()))};
}

std::vector<std::string> With(std::vector<std::string> paths, std::string path) {
  paths.push_back(std::move(path));
  return paths;
}

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  return path == top ||
         (path.starts_with(top) && path.size() > top.size() && path[top.size()] == '.');
}

/// Fills one Resolved part by part.
class Lookup {
 public:
  Lookup(const Experiment& asked, const Basis& basis) : asked_(asked), basis_(basis) {
    out_.pipeline = cost::Stated(asked);
    out_.device = asked.device;
  }

  Resolved Find() {
    out_.notes.profile = basis_.profile.reference;
    out_.notes.profile_source = basis_.profile.source;
    FindCores();
    FindHost();
    FindStorage();
    FindPrepare();
    FindDevice();
    return std::move(out_);
  }

 private:
  const MeasuredRun* run() const { return basis_.run ? &*basis_.run : nullptr; }
  /// The run's demand `value`, if the experiment has the run's values of the settings it depends
  /// on.
  std::optional<double> Measured(std::optional<double> MeasuredRun::* value,
                                 const std::vector<std::string>& depends_on) {
    if (run() == nullptr || !(run()->*value) || !run()->SameIn(asked_, depends_on))
      return std::nullopt;
    out_.notes.from = run()->source;
    return run()->*value;
  }
  void Warn(std::string code, std::string text) {
    out_.warnings.push_back({std::move(code), std::move(text)});
  }
  /// The demand of one read in the run.
  std::optional<double> MeasuredReadSeconds() {
    const auto batch_s = Measured(&MeasuredRun::read_s, {"storage", "dataset.sample_bytes"});
    if (!batch_s || run()->reads <= 0) return std::nullopt;
    return *batch_s / run()->reads;
  }
  double BatchBytes() const {
    return run()->batch_samples * static_cast<double>(spec::PreparedBytes(asked_.dataset).count);
  }
  std::optional<base::BytesPerSecond> Rate(std::optional<double> seconds) const {
    if (!seconds || *seconds <= 0) return std::nullopt;
    return base::BytesPerSecond{BatchBytes() / *seconds};
  }

  void FindCores();
  void FindHost();
  void FindStorage();
  bool FindCachedReads();
  void FindPrepare();
  void FindDevice();
  spec::DeviceId ChosenDevice() const;
  int Threads() const;
  void FindCpuStep();
  /// The experiment's device.step, which it has.
  cost::StatedStep MeasuredStep() {
    out_.notes.step = Source::kStated;
    return {asked_.device.step->base, asked_.device.step->per_sample};
  }
  /// The same for the CPU, with what one of its threads takes.
  void FindMeasuredStep(int threads);
  void FindGpuStep();
  /// The run's own step, then the profile's; empty: neither.
  std::vector<spec::StepPoint> StepTable(spec::DeviceId device, int threads);
  /// The profile's, and how much longer those of the CPU take after pauses.
  std::vector<spec::StepPoint> ProfiledSteps(const Experiment& training, spec::DeviceId device, int threads);
  void WarnBeyond(const std::vector<spec::StepPoint>& table);

  const Experiment& asked_;
  const Basis& basis_;
  Resolved out_;
  bool spun_ = false;  ///< the steps found were measured with spinning threads, and are to sleep
};

void Lookup::FindCores() {
  const spec::Limits& limits = asked_.limits;
  Notes& notes = out_.notes;
  // What the run had, which may be fewer than it was allowed.
  if (run() != nullptr && run()->cores && run()->SameIn(asked_, {"limits.cpus"})) {
    notes.cores = *run()->cores;
    notes.cores_from = "the measured run";
    const double foreign = run()->foreign_cores.value_or(0);
    if (measure::warnings::ForeignCpu::Counts(foreign, notes.cores))
      Warn("measured-beside-others", fmt::format("Other programs used {:.1f} of the {:.3g} cores of the measured run: "
                                                 "its times are what they were beside these.", foreign, notes.cores));
  } else if (limits.cpu_count) {
    notes.cores = *limits.cpu_count;
    notes.cores_from = "limits.cpus";
  } else if (!limits.cpu_list.empty()) {
    notes.cores = static_cast<double>(limits.cpu_list.size());
    notes.cores_from = "limits.cpus";
  } else if (basis_.profile_is_named) {
    notes.cores = basis_.profile.cores;
    notes.cores_from = "the profile";
  } else {
    notes.cores = basis_.cores_here;
    notes.cores_from = "this machine";
  }
  out_.pipeline.machine.cores = notes.cores;
}

void Lookup::FindHost() {
  cost::SetHost(basis_.profile, asked_, out_.pipeline);
  if (const auto memory = MemoryBoundOf(basis_)) out_.pipeline.machine.free_memory = memory->free;
  const std::vector<std::string> prepared{"dataset.shape", "dataset.dtype"};
  if (asked_.loader.HasProcesses() && !basis_.profile.figures.process_send_batch &&
      !(asked_.loader.send && asked_.loader.receive)) {
    Warn("processes-unknown",
         fmt::format("Handing batches over costs nothing here: profile {} has no figures of worker "
                     "processes. pipesim calibrate --python python3 measures them.",
                     basis_.profile.reference));
  }
  // Python's work of worker processes is burned as stated or as the profile has it.
  const bool real = !asked_.collate.IsStated() && !out_.pipeline.hand_over.processes;
  const auto collate_s = Measured(&MeasuredRun::collate_s, With(prepared, "loader.buffers"));
  if (const auto rate = Rate(collate_s); rate && real) {
    // The measured rate holds the cost of fresh pages, too.
    out_.pipeline.collate.bandwidth = rate;
    out_.pipeline.collate.batch = {};  // it is in the measured rate
    out_.pipeline.collate.fault_bandwidth.reset();
    if (const auto& together = run()->copying_bytes_per_s; together && run()->cores)
      out_.pipeline.machine.memory = {.alone = *rate,
                                      .together = {*together},
                                      .threads = static_cast<int>(*run()->cores)};
  }
  const auto pin_s = Measured(&MeasuredRun::pin_s, With(prepared, "loader.pin_memory"));
  if (const auto rate = Rate(pin_s); rate && !asked_.loader.pin_bandwidth) out_.pipeline.pin.bandwidth = rate;
}

void Lookup::FindStorage() {
  if (asked_.storage.kind != spec::StorageKind::kFiles) return;
  const spec::MachineFigures& figures = basis_.profile.figures;
  cost::Storage& storage = out_.pipeline.storage;
  const bool warm = asked_.storage.file_cache == spec::FileCacheState::kWarm && !asked_.storage.direct;
  storage.present = true;
  if (warm && FindCachedReads()) return;
  if (figures.storage_bandwidth) storage.bandwidth = figures.storage_bandwidth->value;
  if (const auto read_s = MeasuredReadSeconds()) {
    storage.latency = Fixed(*read_s);
  } else if (figures.storage_latency) {
    storage.latency = Fixed(base::ToSeconds(figures.storage_latency->value));
  } else if (!figures.storage_bandwidth) {
    Warn("storage-unknown",
         fmt::format("Reading files costs nothing here: profile {} has no figures of storage. "
                     "--from a report of a run, or --storage with a preset, says what it costs.",
                     basis_.profile.reference));
  }
}

/// Files that are all in the page cache: reading them takes CPU time only. False: its cost is
/// unknown.
bool Lookup::FindCachedReads() {
  const double sample_bytes = asked_.dataset.sample_bytes.in_units.Mean();
  const auto read_s = MeasuredReadSeconds();
  const auto& profiled = basis_.profile.figures.read_bandwidth;
  std::optional<base::BytesPerSecond> bandwidth;
  if (profiled) bandwidth = profiled->value;
  if (read_s && *read_s > 0) bandwidth = base::BytesPerSecond{sample_bytes / *read_s};
  if (!bandwidth) return false;
  const double all = sample_bytes * static_cast<double>(asked_.dataset.samples);
  out_.pipeline.storage.cache = {.policy = spec::CachePolicy::kLru,
                                 .size = {2 * std::llround(all)},
                                 .warm = 1,
                                 .hit_bandwidth = bandwidth};
  return true;
}

void Lookup::FindPrepare() {
  if (asked_.prepare.kind != spec::PrepareKind::kDecode) return;
  const auto cpu_s = Measured(&MeasuredRun::prepare_cpu_s,
                              {"storage.path", "dataset.shape", "dataset.dtype", "prepare"});
  const auto& bandwidth = basis_.profile.figures.decode_bandwidth;
  double sample_s = 0;
  if (cpu_s) {
    sample_s = *cpu_s / run()->batch_samples;
  } else if (bandwidth) {
    sample_s = asked_.dataset.sample_bytes.in_units.Mean() / bandwidth->value.per_s;
  } else {
    Refuse(fmt::format("decoding JPEG files has no cost: profile {} has no decode_bandwidth",
                       basis_.profile.reference),
           "--from a report of a run, a profile that has it, or --prepare 2ms");
  }
  const Duration python = out_.pipeline.prepare.python;
  out_.pipeline.prepare = cost::Prepare::Decoding(Fixed(sample_s), out_.pipeline.samples.prepared);
  out_.pipeline.prepare.python = python;
}

spec::DeviceId Lookup::ChosenDevice() const {
  if (asked_.device.kind != DeviceKind::kAuto) return asked_.device.Id();
  if (run() != nullptr && run()->device.IsChosen() && !run()->device.IsEmulated())
    return run()->device;
  for (const spec::ProfileStep& step : basis_.profile.steps)
    if (step.device.IsCuda() && !cost::StepsOf(basis_.profile, asked_, step.device, 1).empty())
      return step.device;
  return spec::DeviceId::Cpu();
}

int Lookup::Threads() const {
  if (asked_.limits.compute_threads) return *asked_.limits.compute_threads;
  if (run() != nullptr && run()->compute_threads > 0 && run()->SameIn(asked_, {"limits"}))
    return run()->compute_threads;
  return std::max(1, static_cast<int>(out_.notes.cores));
}

std::vector<spec::StepPoint> Lookup::ProfiledSteps(const Experiment& training, spec::DeviceId device, int threads) {
  if (device.IsCpu())
    out_.pipeline.step.after_pauses = cost::StepsAfterPauses(basis_.profile, training, threads);
  return cost::StepsOf(basis_.profile, training, device, threads);
}

std::vector<spec::StepPoint> Lookup::StepTable(spec::DeviceId device, int threads) {
  const std::vector<std::string> depends_on{"model", "dataset.shape", "dataset.classes"};
  const bool same_threads = !device.IsCpu() || (run() && run()->compute_threads == threads);
  if (run() != nullptr && run()->device == device && same_threads) {
    if (const auto step_s = Measured(&MeasuredRun::step_s, depends_on); step_s && *step_s > 0) {
      out_.notes.step = Source::kRun;
      return {{std::llround(run()->batch_samples), base::FromSeconds(*step_s)}};
    }
  }
  out_.notes.step = Source::kProfile;
  std::vector<spec::StepPoint> points = ProfiledSteps(asked_, device, threads);
  if (!points.empty() || asked_.limits.omp_wait == spec::OmpWait::kDefault) return points;
  spec::Experiment spinning = asked_;
  spinning.limits.omp_wait = spec::OmpWait::kDefault;
  points = ProfiledSteps(spinning, device, threads);
  if (!points.empty()) {
    spun_ = true;
    Warn("step-other-wait",
         fmt::format("Steps were measured with threads that spin while they wait; the time to wake "
                     "them is added by a model: pipesim calibrate --model {} --set "
                     "limits.omp_wait=passive measures it.",
                     asked_.model.name));
  }
  return points;
}

void Lookup::WarnBeyond(const std::vector<spec::StepPoint>& points) {
  const cost::StepTable table(points);
  const std::int64_t batch = asked_.loader.batch_size;
  if (table.Covers(batch)) return;
  if (table.smallest() == table.largest()) {
    Warn("step-extrapolated",
         fmt::format("Steps were measured with {} samples; at {} the step's time is in proportion.",
                     table.smallest(), batch));
    return;
  }
  Warn("step-extrapolated",
       fmt::format("Steps were measured with {} to {} samples; at {} the step's time is extrapolated "
                   "from the two {}.",
                   table.smallest(), table.largest(), batch,
                   batch > table.largest() ? "largest" : "smallest"));
}

void Lookup::FindMeasuredStep(int threads) {
  const spec::StepCost& measured = *asked_.device.step;
  cost::Step& step = out_.pipeline.step;
  step.cost = MeasuredStep();
  step.threads = std::max(threads, measured.threads.value_or(threads));
  if (step.threads == 1 || !measured.one_thread) return;
  std::vector<spec::StepPoint> one;
  for (const std::int64_t samples : {std::int64_t{1}, asked_.loader.batch_size + 1}) {
    one.push_back({samples, step.Mean(samples)});
    cost::Scale(one.back().time, *measured.one_thread);
  }
  step.one_thread = cost::StepTable(one);
}

void Lookup::FindCpuStep() {
  const int threads = Threads();
  cost::Step& step = out_.pipeline.step;
  step = {};
  out_.compute_threads = step.threads = threads;
  if (threads > 1) step.barriers = cost::LaunchesOfStep(asked_.model, asked_.dataset.shape, asked_.training);
  if (asked_.device.step) return FindMeasuredStep(threads);
  std::vector<spec::StepPoint> points = StepTable(spec::DeviceId::Cpu(), threads);
  if (points.empty()) {
    // The engine scales the step of more threads to fewer, as a what-if does.
    if (const int more = cost::MoreThreadsMeasured(basis_.profile, asked_, threads)) {
      step.threads = more;
      points = StepTable(spec::DeviceId::Cpu(), more);
    }
  }
  if (!points.empty()) {
    WarnBeyond(points);
    step.cost = cost::StepTable(points);
    if (threads > 1) cost::AddFewerThreads(basis_.profile, asked_, step);
    if (spun_)
      step = step.WithSleepingPool(asked_.loader.batch_size,
                                   out_.pipeline.machine.barrier_wake_up);
    return;
  }
  const auto cpu = cost::CpuAsDevice(basis_.profile, threads);
  if (!cpu) {
    Refuse(fmt::format("a step of {} on the CPU has no cost: profile {} has neither such steps nor "
                       "fp32_gflops and memory_bandwidth",
                       asked_.model.name, basis_.profile.reference),
           "another --profile, or a described device: --device rtx-4060");
  }
  out_.notes.step = Source::kEstimated;
  Warn("step-estimated",
       fmt::format("The step's time is estimated from the model's layers: profile {} has no "
                   "measured step of {} on {} {} of a CPU.",
                   basis_.profile.reference, asked_.model.name, threads,
                   threads == 1 ? "thread" : "threads"));
  step.cost = std::make_shared<const cost::Roofline>(asked_.model, asked_.dataset.shape,
                                                     asked_.training, *cpu);
  cost::AddFewerThreads(basis_.profile, asked_, step);
  cost::EstimateFewerThreads(basis_.profile, asked_, step);
  if (asked_.limits.omp_wait == spec::OmpWait::kPassive)
    step = step.WithSleepingPool(asked_.loader.batch_size,
                                 out_.pipeline.machine.barrier_wake_up);
}

void Lookup::FindGpuStep() {
  const spec::DeviceId device = out_.device.Id();
  if (asked_.device.step) {
    cost::Step& step = out_.pipeline.step;
    step = {};
    step.cost = MeasuredStep();
    cost::SetGpu(basis_.profile, asked_, device, out_.pipeline);
    // Of a program that is not the profile's.
    out_.pipeline.host.step = asked_.device.step->host.value_or(Duration::zero());
    step.launch = asked_.device.step->launch.value_or(Duration::zero());
    step.launch_unlocked = step.launch - asked_.device.step->launch_cpu.value_or(step.launch);
    step.gap = {};
    if (asked_.device.step->with_copies) out_.pipeline.transfer = {};
    return;
  }
  std::vector<spec::StepPoint> points = StepTable(device, 1);
  if (points.empty()) {
    Refuse(fmt::format("a step of {} on {} has no cost: profile {} has no such steps",
                       asked_.model.name, spec::ToText(device), basis_.profile.reference),
           "a preset: --device rtx-4060, or a profile of a machine with that GPU: --profile FILE");
  }
  WarnBeyond(points);
  cost::Step& step = out_.pipeline.step;
  step = {};
  step.cost = cost::StepTable(points);
  cost::SetGpu(basis_.profile, asked_, device, out_.pipeline);
  if (out_.notes.step != Source::kRun) return;
  step.gap = {};  // the report of a run does not tell its own
  step.device_name = run()->device_name;
  if (const auto memory = run()->device_memory_bytes)
    step.device_memory = base::Bytes{static_cast<std::int64_t>(*memory)};
  const std::vector<std::string> depends_on{"loader.pin_memory", "loader.collate_into",
                                            "dataset.shape", "dataset.dtype", "transfer"};
  if (const auto rate = Rate(Measured(&MeasuredRun::h2d_s, depends_on))) {
    cost::Transfer& transfer = out_.pipeline.transfer;
    transfer.latency = {};
    transfer.bandwidth =
        base::BytesPerSecond{rate->per_s * (run()->pinned ? 1 : transfer.pageable_factor)};
  }
}

void Lookup::FindDevice() {
  spec::Device& out = out_.device;
  const spec::DeviceId chosen = ChosenDevice();
  out.kind = chosen.kind;
  if (chosen.IsCuda()) out.cuda_index = chosen.index;
  if (out.kind == DeviceKind::kCpu) FindCpuStep();
  if (out.kind == DeviceKind::kCuda) FindGpuStep();
  if (out.kind == DeviceKind::kEmulated)
    out_.notes.step = out_.pipeline.step.source == Source::kEstimated ? Source::kEstimated
                                                                      : Source::kStated;
  out_.pipeline.step.source = out_.notes.step;
  if (run() == nullptr || run()->device != out.Id()) return;
  const auto host_s = Measured(&MeasuredRun::host_s, {"model", "device.emulated"});
  if (!host_s) return;
  // The measured time includes the launches; the engine adds its own, so subtract those.
  const Duration known = out_.pipeline.step.launch;
  out_.pipeline.host.step = std::max(Duration::zero(), base::FromSeconds(*host_s) - known);
}

}  // namespace

std::optional<base::MemoryBound> MemoryBoundOf(const Basis& basis) {
  if (!basis.profile_is_named) return base::Tightest(basis.memory_here);
  const auto& memory = basis.profile.figures.memory;
  if (!memory) return std::nullopt;
  base::MemoryBound bound;
  bound.name = "machine profile " + basis.profile.reference;
  bound.free = memory->value;
  return bound;
}

bool MeasuredRun::SameIn(const spec::Experiment& experiment,
                         const std::vector<std::string>& paths) const {
  const auto concerns = [&](const std::string& path) {
    return std::any_of(paths.begin(), paths.end(),
                       [&](const std::string& top) { return IsAtOrBelow(path, top); });
  };
  std::map<std::string, std::string> now;
  for (const auto& [path, setting] : experiment.settings)
    if (concerns(path)) now[path] = base::Printable(setting.text);
  std::map<std::string, std::string> then;
  for (const auto& [path, text] : texts)
    if (concerns(path)) then[path] = text;
  return now == then;
}

Resolved Resolve(const Experiment& experiment, const Basis& basis) {
  return Lookup(experiment, basis).Find();
}

}  // namespace pipesim::predict
