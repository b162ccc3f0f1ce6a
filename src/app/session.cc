#include "app/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "app/installation.h"
#include "app/probe_planning.h"
#include "app/torch_library.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/memory.h"
#include "cost/buffers.h"
#include "cost/memory_plan.h"
#include "cost/profile.h"
#include "engine/nvml.h"
#include "engine/sample_source.h"
#include "engine/threaded/threaded_executor.h"
#include "measure/fit.h"
#include "measure/repeats.h"
#include "predict/virtual_predictor.h"
#include "spec/cpu_list.h"
#include "spec/machine_profile.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

using spec::DeviceKind;
using spec::Experiment;
using spec::Origin;

std::string CpuListText(const std::vector<int>& cpus) {
  spec::Limits limits;
  limits.cpu_list = cpus;
  return spec::CpusText(limits);
}

/// The listed processors that this process may use. The kernel would silently leave out those that
/// are not there, and go beyond the affinity that the process was started with (taskset).
std::vector<int> AllowedOf(const std::vector<int>& listed, const base::CpuAllowance& allowed) {
  std::vector<int> both;
  for (const int cpu : listed)
    if (std::binary_search(allowed.cpus.begin(), allowed.cpus.end(), cpu)) both.push_back(cpu);
  if (both.empty())
    throw base::EnvironmentError(
        fmt::format("limits.cpus {} names no processor that this process may use; it may use {}",
                    CpuListText(listed), CpuListText(allowed.cpus)));
  return both;
}

/// Returns what it leaves out.
std::vector<int> LimitCpus(const Experiment& experiment) {
  const spec::Limits& limits = experiment.limits;
  const base::CpuAllowance allowed = base::ReadCpuAllowance();
  if (limits.cpu_count)
    base::PinProcess(base::ChooseCpus(allowed, *limits.cpu_count));
  else if (!limits.cpu_list.empty())
    base::PinProcess(AllowedOf(limits.cpu_list, allowed));
  if (limits.omp_wait == spec::OmpWait::kPassive) setenv("OMP_WAIT_POLICY", "passive", 1);
  std::vector<int> left_out;
  const std::vector<int> used = base::ReadCpuAllowance().cpus;
  std::set_difference(allowed.cpus.begin(), allowed.cpus.end(), used.begin(), used.end(),
                      std::back_inserter(left_out));
  return left_out;
}

/// OMP_NUM_THREADS is the default where limits.compute_threads is not set, as in PyTorch.
void ResolveThreads(Experiment& experiment) {
  if (experiment.limits.compute_threads) return;
  spec::Experiment::Setting& setting = experiment.settings["limits.compute_threads"];
  int threads = std::max(1, static_cast<int>(base::ReadCpuAllowance().Cores()));
  if (const char* omp = std::getenv("OMP_NUM_THREADS"); omp != nullptr && NeedsTorch(experiment)) {
    const auto parsed = spec::ParseCount(omp);
    if (const auto* count = std::get_if<std::int64_t>(&parsed);
        count != nullptr && *count >= 1 && *count <= 4096) {
      threads = static_cast<int>(*count);
      setting = {omp, Origin::kEnvironment};
    }
  }
  experiment.limits.compute_threads = threads;
}

void ResolveDevice(Experiment& experiment) {
  if (!NeedsTorch(experiment)) return;
  const auto devices = LoadTorch().devices();
  spec::Device& device = experiment.device;
  if (device.kind == DeviceKind::kAuto) {
    device.kind = devices.empty() ? DeviceKind::kCpu : DeviceKind::kCuda;
    device.cuda_index = 0;
  }
  if (device.kind == DeviceKind::kCuda && device.cuda_index >= static_cast<int>(devices.size()))
    throw base::EnvironmentError(
        devices.empty()
            ? fmt::format("device cuda:{} was asked for, but no CUDA device is visible here\n"
                          "use --device cpu, or --device emulated",
                          device.cuda_index)
            : fmt::format("device cuda:{} was asked for, but there are only {} (cuda:0 to cuda:{})",
                          device.cuda_index, devices.size(), devices.size() - 1));
}

std::unique_ptr<engine::Trainer> MakeTrainer(const Experiment& experiment,
                                             const cost::Pipeline& pipeline,
                                             const base::Clock& clock) {
  if (experiment.device.kind == DeviceKind::kEmulated)
    return engine::MakeEmulatedTrainer(experiment, pipeline, clock);
  return LoadTorch().make_trainer(experiment, clock, *experiment.limits.compute_threads);
}

/// What workers collate into.
std::unique_ptr<engine::BatchMemory> MakeMemory(const Experiment& experiment) {
  const bool pinned = experiment.loader.collate_into == spec::CollateInto::kPinned;
  return pinned && experiment.device.kind == DeviceKind::kCuda ? LoadTorch().make_pinned_memory()
                                                               : engine::MakeHostMemory();
}

/// What the pin stage copies into; nullptr without one.
std::unique_ptr<engine::BatchMemory> MakePinnedMemory(const Experiment& experiment) {
  if (!cost::PinsBatches(experiment)) return nullptr;
  return experiment.device.kind == DeviceKind::kCuda ? LoadTorch().make_pinned_memory()
                                                     : engine::MakeHostMemory();
}

engine::GpuMonitor MonitorOf(const Experiment& experiment) {
  if (experiment.device.kind != DeviceKind::kCuda) return {};
  const auto nvml = engine::LoadNvml();
  if (!nvml) return {};
  const auto index = static_cast<std::size_t>(experiment.device.cuda_index);
  return engine::MonitorGpu(*nvml, LoadTorch().devices().at(index).pci_bus_id);
}

/// nullptr: stages are not marked. The LibTorch plugin has NVTX, whatever device trains.
const engine::StageMarks* MarksFor(const engine::RunControl& control) {
  if (!control.mark_stages) return nullptr;
  try {
    return LoadTorch().stage_marks();
  } catch (const base::EnvironmentError& error) {
    throw base::EnvironmentError(
        fmt::format("--nvtx cannot mark this run: {}", error.what()));
  }
}

report::Reality StorageReality(const Experiment& experiment) {
  return experiment.storage.kind == spec::StorageKind::kFiles ? report::Reality::kReal
                                                              : report::Reality::kEmulated;
}

/// A run refused for lack of memory still gets a report: it names the memory needed and free.
trace::RunTrace TraceOfRefusal(const base::Clock& clock, cost::Refusal refusal) {
  trace::RunTrace trace =
      trace::TraceOfNothing(clock.Now(), trace::EndReason::kOutOfMemory, std::move(refusal.why));
  trace.fits = std::move(refusal.fits);
  return trace;
}

/// Why the step cannot fit onto the GPU that trains.
std::optional<cost::Refusal> GpuRefusal(const Experiment& experiment) {
  if (experiment.device.kind != DeviceKind::kCuda) return std::nullopt;
  const auto devices = LoadTorch().devices();
  const engine::TorchDevice& device = devices.at(static_cast<std::size_t>(experiment.device.cuda_index));
  spec::Gpu gpu;
  gpu.id = experiment.device.Id();
  gpu.memory = device.memory;
  gpu.memory_free = device.memory_free;
  gpu.capability_major = device.capability_major;
  gpu.capability_minor = device.capability_minor;
  return cost::GpuMemoryRefusal(experiment, gpu);
}

cost::Refusal Forceable(cost::Refusal refusal) {
  refusal.why += "; --force tries it all the same";
  return refusal;
}

/// Returns why the run cannot fit into memory. If it can, limits the process to the free memory, so
/// that an allocation fails before the kernel kills the process. Not with CUDA, whose driver
/// reserves far more address space than it uses.
std::optional<cost::Refusal> BoundMemory(const Experiment& experiment, bool force) {
  const base::Bytes stacks = cost::StackRoom(experiment);
  std::vector<base::MemoryBound> bounds = base::ReadMemoryBounds();
  for (base::MemoryBound& bound : bounds)
    if (bound.counts_mapped) bound.free = bound.free - stacks;
  const auto bound = base::Tightest(bounds);
  if (!bound) return std::nullopt;
  Experiment without_processes = experiment;  // threads stand for them
  without_processes.loader.worker_memory.reset();
  if (!force) {
    if (auto refusal = cost::MemoryRefusal(without_processes, *bound)) return Forceable(*refusal);
    if (auto refusal = GpuRefusal(experiment)) return Forceable(*refusal);
  }
  if (experiment.device.kind != DeviceKind::kCuda) base::LimitOwnData(bound->free + stacks);
  return std::nullopt;
}

trace::RunTrace Execute(const Experiment& experiment, const cost::Pipeline& pipeline,
                        const engine::RunControl& control) {
  const base::SystemClock clock;
  const engine::StageMarks* marks = MarksFor(control);
  std::unique_ptr<engine::SampleSource> source;
  if (experiment.storage.kind == spec::StorageKind::kFiles)
    source = engine::OpenImageFolder(experiment.storage, experiment.dataset);
  try {
    if (const auto refusal = BoundMemory(experiment, control.force)) return TraceOfRefusal(clock, *refusal);
    engine::PageCacheState page_cache;
    if (source != nullptr)
      page_cache =
          engine::PreparePageCache(experiment.storage, {control.stop, control.on_preparing});
    if (page_cache.interrupted)
      return trace::TraceOfNothing(clock.Now(), trace::EndReason::kInterrupted);
    const auto trainer = MakeTrainer(experiment, pipeline, clock);
    const auto memory = MakeMemory(experiment);
    const auto pinned = MakePinnedMemory(experiment);
    const engine::GpuMonitor gpu = MonitorOf(experiment);
    trace::RunTrace trace =
        engine::MakeThreadedExecutor({&clock, trainer.get(), memory.get(), pinned.get(),
                                      source.get(), gpu.read, marks})
            ->Run(experiment, pipeline, control);
    trace.effective.page_cached_fraction = page_cache.cached_fraction;
    trace.effective.gpu_limits = gpu.limits;
    if (NeedsTorch(experiment)) trace.effective.library_warnings = LoadTorch().take_warnings();
    return trace;
  } catch (const engine::OutOfMemory& refusal) {
    return TraceOfRefusal(clock, {refusal.what(), {}});
  } catch (const std::bad_alloc&) {
    return TraceOfRefusal(
        clock, {"the host's memory is not enough for the model and its batches", {}});
  }
}

trace::RunTrace RunUntilEnough(const Experiment& experiment, const cost::Pipeline& pipeline,
                               const engine::RunControl& asked) {
  engine::RunControl control = asked;
  control.enough = [&](const trace::RunTrace& trace, base::Instant now) {
    return measure::StopReason(trace, now, experiment);
  };
  return Execute(experiment, pipeline, control);
}

/// Of the default profile. A program without its data folder: none, so that barriers cost nothing in
/// its what-ifs, and worker processes only what is stated.
spec::MachineFigures DefaultFigures() {
  try {
    return spec::ReadMachineProfile("default", "machine profile", FindDataFolders()).figures;
  } catch (const base::ConfigError&) {
    return {};
  }
}

/// What the run was given, and how waiting threads behave, which it does not measure. Kernel and
/// OpenMP library decide that, so the figures of the default profile hold on other machines, too.
cost::Pipeline WithWaiting(cost::Pipeline given) {
  cost::SetWaiting(DefaultFigures(), given.machine);
  return given;
}

/// What the run emulates: stated costs, and those of worker processes, which its threads stand for. Its waits are
/// real and end late by themselves.
cost::Pipeline GivenTo(const Experiment& experiment) {
  cost::Pipeline given = cost::Stated(experiment);
  if (!given.hand_over.processes) return given;
  spec::MachineFigures figures = DefaultFigures();
  figures.python_wait.reset();
  figures.python_wait_cpu.reset();
  cost::SetProcesses(figures, experiment, given);
  return given;
}

/// What-ifs run in virtual time on the costs that the run measured.
diagnose::Diagnosis DiagnosisOf(const Experiment& experiment, const trace::RunTrace& trace,
                                const measure::Measurement& measurement,
                                const cost::Pipeline& given) {
  cost::Pipeline fitted = measure::Fit(trace, measurement, experiment, WithWaiting(given));
  const auto memory = base::Tightest(base::ReadMemoryBounds());
  if (memory) fitted.machine.free_memory = memory->free;
  diagnose::Predictor predict = diagnose::PredictByBounds;
  if (measure::Finished(measurement.result))
    predict = predict::PredictInVirtualTime(experiment, fitted, measurement, nullptr);
  diagnose::Offers offers{.presets = spec::ReadPresets(FindDataFolders()), .free_memory = {}};
  if (memory) offers.free_memory = memory->free;
  return diagnose::Diagnose(experiment, measurement, fitted, predict, {},
                            diagnose::PredictByBounds, offers);
}

report::RunReport ReportOf(const Experiment& experiment, const cost::Pipeline& pipeline,
                           const trace::RunTrace& trace) {
  report::RunReport report;
  report.context = ReadContext();
  if (NeedsTorch(experiment)) report.context.libtorch_version = LoadTorch().libtorch_version;
  report.experiment = experiment;
  report.storage = StorageReality(experiment);
  report.prepare = experiment.prepare.kind == spec::PrepareKind::kWait ? report::Reality::kEmulated
                                                                       : report::Reality::kReal;
  report.device = NeedsTorch(experiment) ? report::Reality::kReal : report::Reality::kEmulated;
  report.engine = report::Reality::kReal;
  report.measurement = measure::Measure(trace, experiment, pipeline);
  report.diagnosis = DiagnosisOf(experiment, trace, report.measurement, pipeline);
  return report;
}

}  // namespace

bool NeedsTorch(const Experiment& experiment) {
  return experiment.device.kind != DeviceKind::kEmulated;
}

void CountSamples(Experiment& experiment) {
  if (experiment.storage.kind != spec::StorageKind::kFiles) return;
  const engine::ImageFolderSummary folder = engine::SummarizeImageFolder(experiment.storage.path);
  spec::SetFromData(experiment, folder.samples, folder.classes, folder.mean_sample_bytes);
}

std::string CpusNotHere(const spec::Limits& limits, const base::CpuAllowance& allowed) {
  const auto here = static_cast<int>(allowed.cpus.size());
  if (limits.cpu_count.value_or(0) > here)
    return fmt::format(
        "limits.cpus: {} processors are asked for; this process may use only {}, and "
        "the run uses {}",
        *limits.cpu_count, here, here == 1 ? "that one" : "those");
  if (limits.cpu_list.empty()) return {};
  const std::vector<int> used = AllowedOf(limits.cpu_list, allowed);
  if (used.size() == limits.cpu_list.size()) return {};
  return fmt::format(
      "limits.cpus: {} is asked for; this process may use only {}, and the run uses {}",
      CpuListText(limits.cpu_list), CpuListText(allowed.cpus), CpuListText(used));
}

std::vector<int> PrepareMachine(Experiment& experiment) {
  CountSamples(experiment);
  std::vector<int> left_out = LimitCpus(experiment);
  ResolveThreads(experiment);
  ResolveDevice(experiment);
  return left_out;
}

measure::Measurement MeasureOnce(const Experiment& experiment, const engine::RunControl& control) {
  const cost::Pipeline pipeline = GivenTo(experiment);
  return measure::Measure(RunUntilEnough(experiment, pipeline, control), experiment, pipeline);
}

report::RunReport RunOnce(const Experiment& experiment, const engine::RunControl& control,
                          trace::RunTrace* kept) {
  const cost::Pipeline pipeline = GivenTo(experiment);
  engine::RunControl probing = control;
  if (experiment.run.probes == spec::Probes::kAuto) {
    probing.plan_probes = [&](const trace::RunTrace& trace) {
      const measure::Measurement measurement = measure::Measure(trace, experiment, pipeline);
      return PlanProbes(experiment, measurement,
                        DiagnosisOf(experiment, trace, measurement, pipeline));
    };
  }
  trace::RunTrace trace = RunUntilEnough(experiment, pipeline, probing);
  report::RunReport report = ReportOf(experiment, pipeline, trace);
  if (kept != nullptr) *kept = std::move(trace);
  return report;
}

report::RunReport NothingMeasured(const Experiment& experiment) {
  return ReportOf(experiment, GivenTo(experiment),
                  trace::TraceOfNothing(base::SystemClock().Now(), trace::EndReason::kFailed));
}

report::RunReport RunRepeats(const Experiment& experiment, const engine::RunControl& control,
                             trace::RunTrace* kept) {
  std::vector<report::RunReport> runs;
  for (int repeat = 0; repeat < experiment.run.repeats; ++repeat) {
    Experiment seeded = experiment;
    seeded.run.seed += static_cast<std::uint64_t>(repeat);
    engine::RunControl own = control;
    own.keep_spans = control.keep_spans && repeat == 0;
    runs.push_back(RunOnce(seeded, own, repeat == 0 ? kept : nullptr));
    if (!measure::Finished(runs.back().measurement.result)) return runs.back();
  }
  if (runs.size() == 1) return std::move(runs.front());
  std::vector<measure::Result> results;
  for (const report::RunReport& run : runs) results.push_back(run.measurement.result);
  measure::Repeats repeats = measure::SumUp(results);
  report::RunReport& median = runs[repeats.median];
  median.measurement.result = std::move(repeats.result);
  median.repeats = std::move(repeats.slowest_first);
  return std::move(median);
}

}  // namespace pipesim::app
