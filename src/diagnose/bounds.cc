// The bounds of design section 2 on a scenario's demands. Each is a rate in batches/s that no
// pipeline of these demands can exceed; the lowest is the prediction. They hold the means alone: no
// variation, no order of arrival, no contention.
#include <algorithm>
#include <limits>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double PerSecond(double seconds_per_batch) {
  return seconds_per_batch > 0 ? 1 / seconds_per_batch : kNoLimit;
}

double Or0(const std::optional<double>& seconds) { return std::max(0.0, seconds.value_or(0)); }

double LimitOver(const std::optional<double>& per_s, double per_batch) {
  return per_s && per_batch > 0 ? *per_s / per_batch : kNoLimit;
}

/// Wall time of one worker for one batch. The CPU part of a read is inside read_s, and stays when
/// the storage itself gets faster.
double LoadSeconds(const Scenario& s) {
  const auto& d = s.demands;
  return std::max(Or0(d.read_s) * s.storage_latency_factor, Or0(d.read_cpu_s)) +
         Or0(d.prepare_cpu_s) / std::max(1, s.worker_threads) + Or0(d.prepare_wait_s) +
         Or0(d.collate_s);
}

/// CPU time of one batch, all threads. On a synchronous device the step and the copy are CPU work
/// of the trainer; where the step's CPU time is unknown, one busy thread is the least it can be.
double CpuSeconds(const Scenario& s) {
  const auto& d = s.demands;
  double cpu =
      Or0(d.read_cpu_s) + Or0(d.prepare_cpu_s) + Or0(d.collate_s) + Or0(d.pin_s) + Or0(d.host_s);
  if (!s.device_asynchronous) cpu += Or0(d.h2d_s) + d.step_cpu_s.value_or(Or0(d.step_s));
  return cpu;
}

/// The training thread's own chain: one step after another.
double ConsumerSeconds(const Scenario& s) {
  const auto& d = s.demands;
  double chain = Or0(d.host_s) + Or0(d.sync_s);
  if (!s.device_asynchronous) chain += Or0(d.h2d_s) + Or0(d.step_s);
  if (s.device_asynchronous && s.copy_blocks_host) chain += Or0(d.h2d_s);
  if (s.workers == 0) chain += LoadSeconds(s) + Or0(d.pin_s);
  return chain;
}

/// The device's own chain: launching runs beside it (kernels start as they are launched), the copy
/// only where it may overlap and a second buffer is there.
double DeviceSeconds(const Scenario& s) {
  if (!s.device_asynchronous) return 0;
  const bool copy_in_line = !s.copy_overlaps_step || s.in_flight <= 1;
  return Or0(s.demands.step_s) + (copy_in_line ? Or0(s.demands.h2d_s) : 0);
}

double StorageBatchesPerS(const Scenario& s) {
  return std::min({LimitOver(s.storage_bytes_per_s, s.demands.bytes),
                   LimitOver(s.storage_reads_per_s, s.demands.reads),
                   LimitOver(s.storage_parallel_reads, s.demands.reads)});
}

}  // namespace

double PredictByBounds(const Scenario& s) {
  if (s.demands.batch_samples <= 0) return 0;
  double each_per_s = std::min({PerSecond(ConsumerSeconds(s)), PerSecond(DeviceSeconds(s)),
                                PerSecond(Or0(s.demands.h2d_s))});
  if (s.workers > 0) {
    each_per_s = std::min(
        {each_per_s, s.workers * PerSecond(LoadSeconds(s)), PerSecond(Or0(s.demands.pin_s))});
  }
  double batches_per_s = std::min(s.accelerators * each_per_s, StorageBatchesPerS(s));
  if (s.cores > 0) batches_per_s = std::min(batches_per_s, s.cores * PerSecond(CpuSeconds(s)));
  return batches_per_s * static_cast<double>(s.demands.batch_samples);
}

}  // namespace pipesim::diagnose
