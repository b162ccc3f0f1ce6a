// The measurements of a run in the report's terms: rates with their interval, three partitions that
// add up to the wall time, resources, demands. Computed from a RunTrace; contains no verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cost/pipeline.h"
#include "measure/epochs.h"
#include "measure/interval.h"
#include "measure/over_time.h"
#include "measure/probes.h"
#include "measure/warning.h"
#include "spec/experiment.h"
#include "trace/run_trace.h"

namespace pipesim::measure {

using base::Bytes;
using base::Duration;

struct StepTime {
  double mean_s = 0;
  std::optional<double> p50_s, p95_s, p99_s;  ///< nullopt with fewer steps than the quantile needs
};

/// The training loss as read back (model.sync_every), warm-up included.
struct Loss {
  std::int64_t readings = 0;
  std::int64_t first_step = 0, last_step = 0;  ///< from 0
  double first = 0, last = 0;
};

/// Accelerators that meet after every step, as MLPerf Storage scores them, over whole epochs:
///   AU = compute in all steps but the first / (epoch - first step with its loading),
///   samples/s = an epoch's samples / its time, the first step included,
/// each the mean over epochs (DLIO of MLPerf Storage v1.0, utils/statscounter.py,
/// compute_metrics_train).
struct Meeting {
  double au = 0;
  double samples_per_s = 0;  ///< of all accelerators
  double first_step_s = 0;   ///< with its loading
  std::int64_t epochs = 0;
};

struct Result {
  trace::EndReason stopped_by = trace::EndReason::kEnough;
  /// Equal trainers side by side. samples_per_s is their sum; every other figure is the first
  /// one's, and by symmetry each one's.
  int accelerators = 1;
  std::optional<double> samples_per_s;  ///< nullopt when nothing was measured; likewise below
  std::optional<Interval> samples_per_s_interval;
  std::optional<double> samples_per_s_each;  ///< of the first accelerator
  std::optional<double> steps_per_s;
  std::optional<StepTime> step_time;
  std::optional<double> time_to_first_batch_s;
  double warmup_s = 0;
  double measured_s = 0;
  std::int64_t steps = 0;  ///< in the measured window
  std::int64_t warmup_steps = 0;
  std::int64_t samples = 0;  ///< in the measured window, partial batches at their true size
  std::optional<double> accelerator_utilization;  ///< device busy / wall
  std::optional<Meeting> meeting;  ///< with run.barrier, once an epoch was whole
  /// By which a target is judged: as MLPerf Storage counts it, where accelerators meet.
  std::optional<double> JudgedUtilization() const {
    return meeting ? std::optional(meeting->au) : accelerator_utilization;
  }
  std::vector<EpochResult> epochs;
  /// With a cache in front of the storage, only whole epochs of one kind, cold or warm, are
  /// measured: these. nullopt: the window is not made of whole epochs.
  std::optional<EpochRange> judged_epochs;
  std::optional<Loss> loss;  ///< nullopt when it was never read back
};

/// Each state measured by itself; other = wall − sum. All in seconds of the measured window.
struct Consumer {
  double wall_s = 0, starved_s = 0, h2d_s = 0, host_s = 0, compute_s = 0, sync_s = 0,
         contended_s = 0, other_s = 0;
  /// Parts of compute_s on a synchronous device; nullopt elsewhere.
  std::optional<double> forward_s, backward_s, optimizer_s;
  /// Part of host_s: taking batches over from worker processes; nullopt where workers are threads.
  std::optional<double> receive_s;
};
struct Device {
  std::string clock;  ///< "emulated", "cuda events"
  double wall_s = 0;
  /// nullopt: unknown, since the captured step was not replayed; then busy_s includes it.
  std::optional<double> launch_s;
  double busy_s = 0, starved_s = 0, transfer_s = 0, sync_s = 0, other_s = 0;
};
/// Summed over the workers: wall_s = count × the window. At 0 workers, wall_s is the consumer's own
/// time in read, prepare and collate.
struct Workers {
  int count = 0;
  double wall_s = 0, startup_s = 0, read_s = 0, prepare_s = 0, collate_s = 0, contended_s = 0,
         send_s = 0,  ///< handing batches over; of processes
         blocked_on_consumer_s = 0, blocked_on_order_s = 0, idle_s = 0, other_s = 0;
  std::vector<std::string> unmeasured;  ///< "contended": could not be read; counted under prepare
  std::vector<Workers> each;  ///< one entry per worker, for --full; empty in those entries
};
struct Queue {
  std::int64_t capacity = 0;
  std::optional<double> occupancy_mean, empty_fraction, full_fraction;
};
struct Pin {
  double wall_s = 0, pin_s = 0, contended_s = 0, blocked_s = 0, idle_s = 0, other_s = 0;
  double receive_s = 0;  ///< taking batches over from worker processes
};
struct TransferUse {
  std::int64_t bytes = 0;
  std::optional<double> bytes_per_s;  ///< while copying
};
struct Memory {
  std::optional<std::int64_t> rss_peak_bytes, device_peak_bytes, device_total_bytes;
  std::int64_t queued_bytes = 0;  ///< window × batch bytes, of all accelerators
};
/// One block device over the window, as iostat shows it: used by all programs.
struct Disk {
  std::string name;  ///< "nvme0n1"
  double reads_per_s = 0, read_bytes_per_s = 0;
  std::optional<double> await_s;  ///< mean time of a read, in queue and device; nullopt: no read
  double utilization = 0;         ///< share of time with a request in flight; SSDs can do more at 1
  double queue_length = 0;        ///< mean requests in queue and device
};
/// The GPU that trains, over the window, as NVML shows it: used by all programs.
struct Gpu {
  std::optional<double> power_w, power_limit_w;
  std::optional<double> sm_clock_mhz, sm_clock_limit_mhz, memory_clock_mhz;
};
struct Resources {
  double cores = 0;                       ///< allowed: affinity and quota
  std::optional<double> cores_used;       ///< this process
  std::optional<double> cpu_utilization;  ///< cores_used / cores
  std::optional<double> cores_used_training, cores_used_loading;
  /// Share of the time in which the training thread and the trainer's pool were runnable, but had
  /// no core.
  std::optional<double> trainer_contended_fraction;
  std::optional<double> runnable_threads;  ///< of this process, on a core or waiting for one, on average
  std::optional<double> foreign_cores;     ///< other programs on the allowed processors
  /// Of them, programs in the run's own scheduling group.
  std::optional<double> peer_cores;
  /// The largest share of a storage limit: bandwidth, IOPS or queue depth. nullopt: none is known.
  std::optional<double> storage_utilization;
  double storage_bytes_per_s = 0, reads_per_s = 0;
  std::optional<Disk> disk;                    ///< of real files, where it is known
  std::optional<double> page_cached_fraction;  ///< of the real files' bytes, at the run's begin
  std::optional<double> gpu_utilization_nvml;
  std::optional<Gpu> gpu;  ///< nullopt: neither power nor clocks could be read
  std::optional<double> throttled_fraction;
};

/// The demand of one batch of one accelerator on each part, without contention and waiting: the
/// basis of predictions and interventions. nullopt if it could not be measured, 0 if the pipeline
/// has no such part.
struct Demands {
  std::int64_t batch_samples = 0;    ///< mean size of the measured batches, rounded
  std::optional<double> read_s;      ///< one worker alone waits for storage
  std::optional<double> read_cpu_s;  ///< CPU part of read_s: copies out of a cache, system calls
  double reads = 0, bytes = 0;
  std::optional<double> prepare_cpu_s, prepare_wait_s;
  std::optional<double> collate_s;
  /// What all cores together write that copy large batches; nullopt: each as much as one alone, or
  /// unknown. No demand of one batch.
  std::optional<base::BytesPerSecond> copying_limit;
  std::optional<double> pin_s, h2d_s;
  std::optional<double> host_s;      ///< consumer's own work per step, without taking batches over
  double send_s = 0, receive_s = 0;  ///< of worker processes, and of who takes their batches
  /// Device service time. Where the CPU trains and more threads than cores run: of steps repeated
  /// alone after the run, as long as those were shorter.
  std::optional<double> step_s;
  std::optional<double> step_one_thread_s;  ///< such a step on one thread, where that was measured
  std::optional<double> step_cpu_s;  ///< CPU time of the step where the CPU trains, all threads
  std::string step_cpu_method;       ///< how step_cpu_s was obtained; empty where no CPU trains
  std::optional<double> sync_s;
};

struct Measurement {
  Result result;
  Consumer consumer;
  std::optional<Device> device;  ///< nullopt: no clock of its own
  Workers workers;
  Queue queue;
  std::optional<Pin> pin;
  TransferUse transfer;
  Memory memory;
  Resources resources;
  Demands demands;
  std::vector<Warning> warnings;
  trace::Effective effective;
  std::string failure;
  std::vector<std::pair<std::string, std::string>> fits;  ///< see trace::RunTrace
  std::vector<trace::DataFault> bad_samples;
  std::int64_t bad_sample_count = 0;
  std::vector<Tried> tried;  ///< after the measured window
  double probes_s = 0;       ///< time of the probes, not part of the window
  std::vector<double> step_time_samples_s, occupancy_samples;  ///< <= 4,096
  std::optional<OverTime> over_time;
};

/// `pipeline`: the costs that the run was given; of them, those of emulated parts are used. Does not throw
/// on a short or failed run: a value that could not be measured is nullopt, with a warning.
Measurement Measure(const trace::RunTrace& trace, const spec::Experiment& experiment,
                    const cost::Pipeline& pipeline);

/// The rule behind RunControl::enough. A run ends at the first of the duration, steps and epochs
/// that were asked for. If none was, it ends once min_duration, min_steps and max_noise are all
/// met, or max_duration after its begin. A duration counts from the end of the warm-up; if too few
/// steps end the warm-up, the run ends at run.warmup + duration + max_duration. Takes less than 0.2
/// ms however long the run.
std::optional<trace::EndReason> StopReason(const trace::RunTrace& trace, base::Instant now,
                                           const spec::Experiment& experiment);

/// The part of the run that is measured: without the warm-up, in whole cycles of W batches (whole
/// epochs where at least ten fit). With a cache in front of the storage, and once an epoch is
/// whole, it is the last whole epochs with equal hit fractions: a cold epoch does not predict a
/// warm one, nor a part of an epoch the whole (window.cc). `warmup: auto` is MSER-5 over the times
/// between steps: at least the first step (the pipeline fills), at most half of the run, and never
/// beyond the first epoch. A run that mostly waited for its first batches and has not seen every
/// worker deliver after that is measured from its begin. nullopt when no step was finished after the
/// warm-up.
struct Window {
  base::Instant from, to;
  std::int64_t first_step = 0, last_step = 0;  ///< measured steps are (first_step, last_step]
  std::int64_t samples = 0;          ///< delivered to training
  std::int64_t loaded = 0;           ///< read and prepared meanwhile
  std::optional<EpochRange> epochs;  ///< where the window is made of whole epochs
  /// Loading limits: the rate's precision is that of `loaded`, which grows evenly where batches
  /// arrive in bursts.
  bool by_loading = false;
  /// The samples that the rate counts: `samples`, or `loaded` where what was delivered came from
  /// stock, or went into it.
  std::int64_t counted = 0;
};
std::optional<Window> MeasuredWindow(const trace::RunTrace& trace,
                                     const spec::Experiment& experiment);

/// Whole cycles of `cycle` steps after step `start` and after an automatic warm-up; nullopt when the
/// trace holds none.
std::optional<Window> SteadyWindow(const trace::RunTrace& trace, const spec::Experiment& experiment,
                                   std::int64_t start, std::int64_t cycle);

/// Samples/s of all accelerators in the window.
double SamplesPerSecondOfAll(const trace::RunTrace& trace, const Window& window);

}  // namespace pipesim::measure
