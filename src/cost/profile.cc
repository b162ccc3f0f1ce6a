#include "cost/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/stats.h"

namespace pipesim::cost {
namespace {

/// `one` core's figure grown to `threads` by what `all` cores reached together.
double Scaled(double one, std::optional<double> all, double cores, int threads) {
  const double all_cores = all.value_or(one * cores);
  if (threads <= 1 || cores <= 1) return threads <= 1 ? one : one * threads;
  if (threads >= cores) return all_cores * threads / cores;
  return one + (all_cores - one) * (threads - 1) / (cores - 1);
}

/// Its batch size and pause do not matter.
bool IsTraining(const spec::ProfileStep& step, const spec::Experiment& experiment, spec::DeviceId device) {
  return step.model == experiment.model.name && step.shape == experiment.dataset.shape && step.device == device &&
         step.precision == experiment.training.precision && step.optimizer == experiment.training.optimizer;
}

bool WaitsAlike(const spec::ProfileStep& step, const spec::Experiment& experiment) {
  return !step.device.IsCpu() || step.threads == 1 || step.omp_wait == experiment.limits.omp_wait;
}

/// The step of this training at the batch nearest to the experiment's (by factor); nullptr: none.
const spec::ProfileStep* NearestStep(const spec::MachineProfile& profile,
                                     const spec::Experiment& experiment, spec::DeviceId device) {
  const auto batch = static_cast<double>(experiment.loader.batch_size);
  const auto distance = [&](const spec::ProfileStep& step) {
    const double times = static_cast<double>(step.batch) / batch;
    return std::max(times, 1 / times);
  };
  const spec::ProfileStep* nearest = nullptr;
  for (const spec::ProfileStep& step : profile.steps)
    if (IsTraining(step, experiment, device) &&
        (nearest == nullptr || distance(step) < distance(*nearest)))
      nearest = &step;
  return nearest;
}

/// The host's time to launch a step: of this training's batches that were measured, else by its kernels.
/// A step of any batch launches the same kernels, and what that takes drifts by a fifth within minutes on
/// a shared host, so that a line through all of them, over log2(batch), says more than the nearest.
base::Duration LaunchOf(const spec::MachineProfile& profile, const spec::Experiment& experiment,
                        spec::DeviceId device) {
  const base::Duration by_kernels = LaunchTime(experiment, DurationOf(profile.figures.launch));
  if (experiment.training.cuda_graph) return by_kernels;
  std::vector<double> sizes, seconds;
  for (const spec::ProfileStep& step : profile.steps) {
    if (!step.launch || !IsTraining(step, experiment, device)) continue;
    sizes.push_back(std::log2(static_cast<double>(step.batch)));
    seconds.push_back(base::ToSeconds(*step.launch));
  }
  if (sizes.empty()) return by_kernels;
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  if (*smallest == *largest) return base::FromSeconds(base::Mean(seconds));
  const double size = std::log2(static_cast<double>(experiment.loader.batch_size));
  const double launch_s = base::LineThrough(sizes, seconds).At(std::clamp(size, *smallest, *largest));
  return base::FromSeconds(std::max(launch_s, 0.0));
}

/// What a step's kernels wait for their launches: this training's at the nearest batch. A graph's
/// kernels wait for none.
base::Duration GapOf(const spec::MachineProfile& profile, const spec::Experiment& experiment,
                     spec::DeviceId device) {
  if (experiment.training.cuda_graph) return {};
  const auto* nearest = NearestStep(profile, experiment, device);
  return nearest != nullptr ? nearest->gap.value_or(base::Duration::zero()) : base::Duration{};
}

}  // namespace

void SetWaiting(const spec::MachineFigures& figures, Machine& machine) {
  machine.barrier_wake_up = DurationOf(figures.wake_up);
  machine.pool_spin = ValueOf(figures.pool_spin);
  machine.barrier_slice = ValueOf(figures.barrier_slice);
}

void SetHost(const spec::MachineProfile& profile, const spec::Experiment& experiment,
             Pipeline& pipeline) {
  const spec::MachineFigures& figures = profile.figures;
  Machine& machine = pipeline.machine;
  machine.worker_startup = DurationOf(figures.worker_startup);
  machine.wake_up = DurationOf(figures.wake_up);
  machine.burn_handover = DurationOf(figures.burn_handover);
  SetWaiting(figures, machine);
  if (figures.collate_bandwidth && figures.collate_bandwidth_all_cores)
    machine.memory = {.alone = figures.collate_bandwidth->value,
                      .together = figures.collate_bandwidth_all_cores->value,
                      .threads = static_cast<int>(profile.cores)};
  pipeline.host.step = DurationOf(figures.host_step);
  if (!experiment.collate.IsStated()) {
    pipeline.collate.batch = DurationOf(figures.collate_batch);
    pipeline.collate.bandwidth = ValueOf(figures.collate_bandwidth);
    if (experiment.loader.buffers == spec::Buffers::kFresh)
      pipeline.collate.fault_bandwidth = ValueOf(figures.fault_bandwidth);
  }
  const auto& pin_bandwidth = experiment.loader.pin_bandwidth;
  pipeline.pin.bandwidth = pin_bandwidth ? pin_bandwidth : ValueOf(figures.pin_bandwidth);
  SetProcesses(figures, experiment, pipeline);
}

std::vector<spec::StepPoint> StepsOf(const spec::MachineProfile& profile,
                                     const spec::Experiment& experiment, spec::DeviceId device,
                                     int threads) {
  std::vector<spec::StepPoint> points;
  for (const spec::ProfileStep& step : profile.steps) {
    const bool at_once = step.after_pause == base::Duration::zero();
    if (at_once && step.threads == threads && WaitsAlike(step, experiment) && IsTraining(step, experiment, device))
      points.push_back({step.batch, step.time.value});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.samples < b.samples; });
  return points;
}

std::vector<PausedStep> StepsAfterPauses(const spec::MachineProfile& profile,
                                         const spec::Experiment& experiment, int threads) {
  const spec::DeviceId cpu = spec::DeviceId::Cpu();
  const std::vector<spec::StepPoint> at_once = StepsOf(profile, experiment, cpu, threads);
  std::map<base::Duration, std::vector<double>> longer_s;
  for (const spec::ProfileStep& step : profile.steps) {
    if (step.after_pause == base::Duration::zero() || step.threads != threads ||
        !WaitsAlike(step, experiment) || !IsTraining(step, experiment, cpu))
      continue;
    const auto same = std::find_if(at_once.begin(), at_once.end(),
                                   [&](const auto& point) { return point.samples == step.batch; });
    if (same != at_once.end())
      longer_s[step.after_pause].push_back(base::ToSeconds(step.time.value - same->time));
  }
  std::vector<PausedStep> steps;
  base::Duration longer{};
  for (const auto& [pause, seconds] : longer_s) {
    longer = std::max(longer, base::FromSeconds(base::Mean(seconds)));
    steps.push_back({pause, longer});
  }
  return steps;
}

int MoreThreadsMeasured(const spec::MachineProfile& profile, const spec::Experiment& experiment,
                        int threads) {
  if (threads < 2) return 0;
  int fewest = 0;
  for (const spec::ProfileStep& step : profile.steps) {
    const bool fewer = step.threads > threads && (fewest == 0 || step.threads < fewest);
    if (fewer && !StepsOf(profile, experiment, spec::DeviceId::Cpu(), step.threads).empty()) fewest = step.threads;
  }
  return fewest;
}

void AddFewerThreads(const spec::MachineProfile& profile, const spec::Experiment& experiment, Step& step) {
  std::set<int> fewer;
  for (const spec::ProfileStep& one : profile.steps)
    if (one.threads < step.threads) fewer.insert(one.threads);
  for (const int threads : fewer) {
    const auto points = StepsOf(profile, experiment, spec::DeviceId::Cpu(), threads);
    if (points.empty()) continue;
    if (threads == 1)
      step.one_thread = StepTable(points);
    else
      step.on_fewer.push_back({threads, StepTable(points)});
  }
}

std::optional<spec::DevicePreset> CpuAsDevice(const spec::MachineProfile& profile, int threads) {
  const spec::MachineFigures& figures = profile.figures;
  if (!figures.fp32_gflops || !figures.memory_bandwidth) return std::nullopt;
  std::optional<double> all_bytes_per_s;
  if (const auto& all = figures.memory_bandwidth_all_cores) all_bytes_per_s = all->value.per_s;
  // More cores do not add memory bandwidth once all cores share it.
  const int sharing = std::min(threads, std::max(1, static_cast<int>(profile.cores)));
  spec::DevicePreset cpu;
  cpu.name = profile.cpu.empty() ? "cpu" : profile.cpu;
  cpu.source = "machine profile " + profile.reference;
  cpu.fp32_flops_per_s = 1e9 * Scaled(figures.fp32_gflops->value,
                                      ValueOf(figures.fp32_gflops_all_cores), profile.cores,
                                      threads);
  cpu.memory_bandwidth = {Scaled(figures.memory_bandwidth->value.per_s, all_bytes_per_s,
                                 profile.cores, sharing)};
  if (const auto& cached = figures.cache_bandwidth)
    cpu.cache_bandwidth = {cached->value.per_s * sharing};
  cpu.launch = cpu.step_launch = DurationOf(figures.operation);
  cpu.efficiency = 1;  // measured with dense products, not a peak
  return cpu;
}

void EstimateFewerThreads(const spec::MachineProfile& profile, const spec::Experiment& experiment, Step& step) {
  const std::int64_t batch = experiment.loader.batch_size;
  for (int threads = 1; threads < step.threads; ++threads) {
    const auto is_it = [&](const StepOnThreads& one) { return one.threads == threads; };
    if (threads == 1 ? step.one_thread.has_value() : std::ranges::any_of(step.on_fewer, is_it)) continue;
    const auto cpu = CpuAsDevice(profile, threads);
    if (!cpu) return;
    Step fewer{.cost = std::make_shared<const Roofline>(experiment.model, experiment.dataset.shape,
                                                        experiment.training, *cpu),
               .threads = threads};
    const StepTable table(
        std::vector<spec::StepPoint>{{batch, fewer.Mean(batch)}, {2 * batch, fewer.Mean(2 * batch)}});
    if (threads == 1)
      step.one_thread = table;
    else
      step.on_fewer.push_back({threads, table});
  }
}

void SetGpu(const spec::MachineProfile& profile, const spec::Experiment& experiment,
            spec::DeviceId device, Pipeline& pipeline) {
  const spec::MachineFigures& figures = profile.figures;
  pipeline.step.device_name = profile.gpu.empty() ? "cuda" : profile.gpu;
  pipeline.step.device_memory = ValueOf(figures.device_memory);
  pipeline.step.launch = LaunchOf(profile, experiment, device);
  pipeline.step.gap = GapOf(profile, experiment, device);
  pipeline.transfer.bandwidth = ValueOf(figures.h2d_bandwidth);
  pipeline.transfer.latency = DurationOf(figures.h2d_latency);
  if (const auto& pageable = figures.h2d_pageable_bandwidth; pageable && figures.h2d_bandwidth)
    pipeline.transfer.pageable_factor =
        std::max(1.0, figures.h2d_bandwidth->value.per_s / pageable->value.per_s);
}

}  // namespace pipesim::cost
