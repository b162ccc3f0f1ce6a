// The resources that the process and the machine used during the window, from the counters sampled
// during the run. Does not use thread states.
#pragma once

#include "cost/storage.h"
#include "measure/measurement.h"

namespace pipesim::measure {

/// The increase of the counters over the window, by linear interpolation. `covered_s` is the part
/// of the window that the samples cover; rates are over it.
struct CounterMoves {
  double covered_s = 0;
  std::optional<double> process_cpu_s, machine_cpu_s, throttled_s, worker_wait_s, swapped_in_pages;
  /// Of the training thread and the trainer's pool, summed: on a core, and runnable without one.
  std::optional<double> trainer_on_core_s, trainer_wait_s;
  double storage_reads = 0, storage_bytes = 0;
  double storage_bandwidth_busy_s = 0, storage_iops_busy_s = 0;
  struct DiskMoves {
    double reads = 0, read_bytes = 0, reading_s = 0, busy_s = 0, queued_s = 0;
  };
  std::optional<DiskMoves> disk;
};
/// nullopt when the samples cover less than half of the window.
std::optional<CounterMoves> MovesIn(const trace::RunTrace& trace, const Window& window);

/// The emulated storage's share of its limit: the busiest of the bandwidth clock, the IOPS clock
/// and the queue's slots (Little's law). nullopt without any limit.
std::optional<double> StorageUtilization(const cost::Storage& storage, const CounterMoves& moves);

/// Of the time that the trainer's threads wanted a core, the share that they waited for one.
/// nullopt where that was not counted.
std::optional<double> TrainerContendedFraction(const CounterMoves& moves);

/// Bytes that this process made the kernel fetch from block devices between two instants. nullopt
/// if the kernel does not count them, or with fewer than five samples between the instants.
std::optional<double> FetchedBytes(const trace::RunTrace& trace, base::Instant from,
                                   base::Instant to);

/// `loading_cpu_s_per_step`: CPU time of reading, preparing and collating one batch, if known.
Resources ResourcesIn(const trace::RunTrace& trace, const Window& window,
                      const spec::Experiment& experiment, const cost::Storage& storage,
                      const std::optional<CounterMoves>& moves,
                      std::optional<double> loading_cpu_s_per_step);

Memory MemoryOf(const trace::RunTrace& trace, const spec::Experiment& experiment);

}  // namespace pipesim::measure
