#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {
namespace {

/// Reads/s that the queue depth admits: depth / (latency + open cost) of one read.
std::optional<double> ParallelReads(const spec::Storage& storage) {
  if (!storage.queue_depth) return std::nullopt;
  const double held_s =
      base::ToSeconds(storage.latency.Mean()) + base::ToSeconds(storage.open_cost.Mean());
  if (!(held_s > 0)) return std::nullopt;
  return *storage.queue_depth / held_s;
}

}  // namespace

Scenario ScenarioOf(const spec::Experiment& experiment, const measure::Measurement& measurement) {
  const auto& effective = measurement.effective;
  Scenario s;
  s.demands = measurement.demands;
  s.accelerators = measurement.result.accelerators;
  s.cores = measurement.resources.cores > 0 ? measurement.resources.cores : effective.cores;
  s.workers = experiment.loader.workers;
  s.prefetch_factor = experiment.loader.prefetch_factor;
  s.dispatch = experiment.loader.dispatch;
  s.in_order = experiment.loader.in_order;
  s.persistent_workers = experiment.loader.persistent_workers;
  s.device_asynchronous = effective.device_asynchronous;
  s.in_flight = experiment.device.in_flight;
  s.compute_threads = effective.compute_threads;
  if (experiment.prepare.kind == spec::PrepareKind::kBurn) {
    s.worker_threads = experiment.limits.worker_threads;
  }
  s.pin_thread = effective.pinned && s.workers > 0;
  s.copy_overlaps_step = experiment.transfer.overlap;
  // A copy out of page-able memory returns only when the data has left it (CUDA programming guide,
  // "API synchronization behavior"), whatever non_blocking says; the emulated device does the same.
  s.copy_blocks_host = !experiment.transfer.non_blocking || !effective.pinned;
  if (experiment.storage.kind == spec::StorageKind::kEmulated) {
    if (experiment.storage.bandwidth) s.storage_bytes_per_s = experiment.storage.bandwidth->per_s;
    s.storage_reads_per_s = experiment.storage.iops_per_s;
    s.storage_parallel_reads = ParallelReads(experiment.storage);
  }
  return s;
}

}  // namespace pipesim::diagnose
