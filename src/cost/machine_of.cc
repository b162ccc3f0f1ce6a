#include "cost/machine_of.h"

#include <algorithm>

namespace pipesim::cost {
namespace {

using spec::MaybeFigure;

template <class T>
std::optional<T> ValueOf(const MaybeFigure<T>& figure) {
  if (!figure) return std::nullopt;
  return figure->value;
}

/// `one` core's figure grown to `threads` by what `all` cores reached together.
double Scaled(double one, std::optional<double> all, double cores, int threads) {
  const double all_cores = all.value_or(one * cores);
  if (threads <= 1 || cores <= 1) return threads <= 1 ? one : one * threads;
  if (threads >= cores) return all_cores * threads / cores;
  return one + (all_cores - one) * (threads - 1) / (cores - 1);
}

}  // namespace

Machine MachineOf(const spec::MachineFigures& figures) {
  Machine machine;
  machine.worker_startup = ValueOf(figures.worker_startup).value_or(base::Duration::zero());
  machine.wake_up = ValueOf(figures.wake_up).value_or(base::Duration::zero());
  machine.burn_handover = ValueOf(figures.burn_handover).value_or(base::Duration::zero());
  machine.host_step = ValueOf(figures.host_step).value_or(base::Duration::zero());
  machine.pool_spin = ValueOf(figures.pool_spin);
  machine.barrier_slice = ValueOf(figures.barrier_slice);
  machine.collate_batch = ValueOf(figures.collate_batch).value_or(base::Duration::zero());
  machine.collate_bandwidth = ValueOf(figures.collate_bandwidth);
  machine.fault_bandwidth = ValueOf(figures.fault_bandwidth);
  machine.pin_bandwidth = ValueOf(figures.pin_bandwidth);
  machine.decode_bandwidth = ValueOf(figures.decode_bandwidth);
  machine.file_bandwidth = ValueOf(figures.storage_bandwidth);
  machine.memory_bandwidth = ValueOf(figures.collate_bandwidth_all_cores);
  return machine;
}

std::vector<spec::StepPoint> StepsOf(const spec::MachineProfile& profile,
                                     const spec::Experiment& experiment, spec::DeviceId device,
                                     int threads) {
  std::vector<spec::StepPoint> points;
  for (const spec::ProfileStep& step : profile.steps) {
    const bool waits_alike =
        !device.IsCpu() || threads == 1 || step.omp_wait == experiment.limits.omp_wait;
    const bool same = waits_alike && step.model == experiment.model.name &&
                      step.shape == experiment.dataset.shape && step.device == device &&
                      step.threads == threads && step.precision == experiment.training.precision &&
                      step.optimizer == experiment.training.optimizer;
    if (same) points.push_back({step.batch, step.time.value});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.samples < b.samples; });
  return points;
}

std::optional<spec::DevicePreset> CpuAsDevice(const spec::MachineProfile& profile, int threads) {
  const spec::MachineFigures& figures = profile.figures;
  if (!figures.fp32_gflops || !figures.memory_bandwidth) return std::nullopt;
  std::optional<double> all_bytes_per_s;
  if (const auto& all = figures.memory_bandwidth_all_cores) all_bytes_per_s = all->value.per_s;
  // No core adds to the memory's bandwidth once all of them share it.
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
  cpu.launch = ValueOf(figures.operation).value_or(base::Duration::zero());
  cpu.efficiency = 1;  // what dense products reached, not a peak
  return cpu;
}

std::optional<spec::DevicePreset> GpuOf(const spec::MachineProfile& profile) {
  const spec::MachineFigures& figures = profile.figures;
  if (!figures.h2d_bandwidth && !figures.device_memory) return std::nullopt;
  spec::DevicePreset gpu;
  gpu.name = profile.gpu.empty() ? "cuda" : profile.gpu;
  gpu.source = "machine profile " + profile.reference;
  gpu.launch = ValueOf(figures.launch).value_or(base::Duration::zero());
  if (figures.h2d_bandwidth) gpu.h2d_bandwidth = figures.h2d_bandwidth->value;
  if (figures.device_memory) gpu.memory = figures.device_memory->value;
  return gpu;
}

}  // namespace pipesim::cost
