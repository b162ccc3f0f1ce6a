// Everything recorded during one run, in bounded memory and the same format for every engine. The
// only input of measure. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/disk.h"
#include "base/units.h"
#include "spec/device_id.h"
#include "trace/probes.h"
#include "trace/repeated_time.h"
#include "trace/span.h"

namespace pipesim::trace {

/// Maximum number of time buckets; beyond it, buckets double in width.
inline constexpr std::size_t kMaxBuckets = 4096;

/// Time per state and bucket; bucket i covers [origin + i × width, + width). Time before the origin
/// is not counted. A thread's time in a bucket is that in `times` and that of the stretches of
/// `repeated`: read it by TimeIn and TimesPerBucket.
struct ThreadTotals {
  Role role = Role::kConsumer;
  std::uint16_t index = 0;
  base::Instant begin, end;  ///< first span's begin, last span's end
  /// By state, then bucket. Each vector ends at or after the last bucket with time in its state;
  /// states that the thread never enters take no memory.
  std::array<std::vector<base::Duration>, kStateCount> times;
  std::vector<RepeatedTime> repeated;  ///< a few, in order; not in `times`
};

/// The consumer's progress at the end of a step. Every stride-th step is kept; at 4,096 the stride
/// doubles.
struct Checkpoint {
  std::int64_t steps = 0;    ///< finished so far, including this one
  std::int64_t samples = 0;  ///< likewise
  std::int64_t epoch = 0;
  base::Instant at;
  std::int64_t loaded = 0;  ///< StepRecord::loaded
};

/// Progress of another accelerator, kept like the consumer's own.
struct Progress {
  std::int64_t stride = 1;
  std::vector<Checkpoint> kept;
};

struct EpochRecord {
  std::int64_t epoch = 0;
  base::Instant begin,
      end;  ///< the previous epoch's last step (or the run's begin), its own last step
  base::Duration first_batch{};  ///< from begin until its first batch was taken
  base::Duration starved{};
  std::int64_t steps = 0, samples = 0;
  std::int64_t reads = 0, cache_hits = 0;  ///< sums of its BatchRecords
  base::Bytes bytes;                       ///< of those reads
  bool complete = false;
};

/// An epoch of accelerators that meet after every step. The first step, with its loading, is told
/// apart from the others.
struct MetEpoch {
  std::int64_t epoch = 0;
  base::Instant begin, end;     ///< the last meeting of the epoch before (or the run's begin), its own
  std::int64_t steps = 0;  ///< of each accelerator
  // Sums over all accelerators.
  std::int64_t samples = 0;
  base::Duration first_steps{};  ///< from begin to the end of each one's own first step
  base::Duration compute{};      ///< in all steps but the first
};

enum class Series : std::uint8_t {
  kStepTime,       ///< ns from one step's end to the next; none for the first step
  kStarved,        ///< ns waited for a batch, per step
  kOccupancy,      ///< batches, per step
  kReadTime,       ///< ns per batch, in one worker
  kReadCpuTime,    ///< ns of CPU time per batch
  kPrepareTime,    ///< ns per batch, on a core and without one
  kCollateTime,    ///< ns per batch
  kContendedTime,  ///< ns per batch
  kDeviceStep,     ///< ns the device was busy with a step
  kTransferTime,   ///< ns per copy to the device: by the device's clock if it reports copies, else
                   ///< the consumer's time in kTransfer per step
  kLoss,
};
inline constexpr int kSeriesCount = static_cast<int>(Series::kLoss) + 1;

/// A bounded sample of a series: at most kReservoirSize values, those with the smallest key hashes,
/// so that the same run keeps the same values on any number of threads. In key order once the run
/// has ended.
struct Sampled {
  std::int64_t key = 0;  ///< step or batch number
  base::Instant at;
  double value = 0;
};
inline constexpr std::size_t kReservoirSize = 4096;
struct Reservoir {
  std::int64_t seen = 0;
  std::vector<Sampled> kept;
};

/// A GPU at one moment, as NVML shows it: used by all programs. nullopt: not readable.
struct GpuReading {
  std::optional<double> utilization;  ///< 0..1
  std::optional<base::Bytes> memory_used;
  std::optional<double> power_w;
  std::optional<double> sm_clock_mhz, memory_clock_mhz;
};
/// What the readings can reach.
struct GpuLimits {
  std::optional<double> power_w, sm_clock_mhz;
};

/// Resources consumed so far by the process and the machine. Counters start at the run's begin
/// unless stated otherwise; negative or nullopt where not readable.
struct ResourceSample {
  base::Instant at;
  base::Duration process_cpu{};
  std::optional<base::Duration> machine_cpu;  ///< busy time of the allowed processors, all programs
  base::Bytes resident;                       ///< current value
  std::int64_t storage_reads = 0;
  base::Bytes storage_bytes;
  base::Duration storage_bandwidth_busy{};
  base::Duration storage_iops_busy{};
  std::int64_t loaded = 0;                       ///< StepRecord::loaded at this moment
  std::optional<base::Bytes> fetched;            ///< by this process from block devices
  std::optional<base::DiskCounters> disk;        ///< of the real files' disk, since boot
  std::optional<base::Duration> throttled;       ///< by the cgroup
  std::optional<std::int64_t> swapped_in_pages;  ///< by this process's major faults
  /// Sums over each role's threads: time on a core, and run-queue wait. The consumer's include the
  /// trainer's thread pool.
  std::array<std::optional<base::Duration>, kRoleCount> on_core, run_queue_wait;
  GpuReading gpu;  ///< of the device that trains; the last reading
};

enum class EndReason {
  kDuration,
  kSteps,
  kEpochs,
  kEnough,
  kMaxDuration,
  kInterrupted,
  kFailed,
  kOutOfMemory
};

/// A skipped sample, or the reason why the run failed.
struct DataFault {
  std::string item;  ///< file name, or "worker 3"
  std::string reason;
};

/// The effective values, as opposed to the requested ones.
struct Effective {
  double cores = 0;
  std::vector<int> cpus;
  int compute_threads = 0;  ///< of the trainer; 0: none (emulated)
  spec::DeviceId device;    ///< not chosen: the run ended before choosing one
  std::string device_name;  ///< marketing name or preset
  bool device_asynchronous = false;
  /// Real files: their block device (empty: unknown), and the share of their bytes that was in the
  /// page cache when the run began.
  std::string disk;
  std::optional<double> page_cached_fraction;
  bool pinned = false;
  std::int64_t queue_capacity = 0;
  std::int64_t max_occupancy = 0;
  std::optional<base::Bytes> device_memory, device_memory_peak;
  std::int64_t model_parameters = 0;
  /// Device time of one full step in isolation (graph replay, or CPU steps repeated after the run),
  /// if known.
  std::optional<base::Duration> device_step;
  /// The same step when training on the CPU: CPU time of all threads, and wall time on one thread.
  std::optional<base::Duration> step_cpu, step_on_one_thread;
  /// CPU time of each of the pool's other threads from a step's end until it sleeps, in isolation.
  std::optional<base::Duration> pool_spin;
  /// A GPU whose batches come from pageable memory: copying a full one from page-locked memory, in
  /// isolation.
  std::optional<base::Duration> pinned_copy;
  /// How many times as much as one thread all cores together copy of large batches, in isolation.
  std::optional<double> copying_speedup;
  /// What one burn of two threads of a worker takes beyond their shares, in isolation.
  std::optional<base::Duration> burn_handover;
  GpuLimits gpu_limits;  ///< by NVML
  std::vector<std::string> library_warnings;  ///< of LibTorch, each text once
  /// Cores that programs used with which the kernel shares cores thread by thread; the others have
  /// a scheduling group of their own.
  double peer_cores = 0;
  std::vector<int> idle_cpus;  ///< allowed, left out by limits.cpus, and idle during the run
};

/// Spans are kept for this many batches at either end of a run, but at most kKeptSpans spans at
/// each end.
inline constexpr std::int64_t kSpanBatches = 2000;
inline constexpr std::size_t kKeptSpans = 64 * kSpanBatches;

struct RunTrace {
  base::Instant begin, end;  ///< of the run, by the engine's wall clock
  base::Duration bucket_width{};
  base::Instant bucket_origin;
  std::vector<ThreadTotals> threads;
  std::int64_t steps = 0, samples = 0;
  std::optional<base::Instant> first_batch;  ///< when the first batch was taken
  std::int64_t checkpoint_stride = 1;
  std::vector<Checkpoint> progress;
  /// The first checkpoints and device steps, at least 4,000 of each, where `progress` and the series
  /// keep not all of them (TraceOptions::keep_first); up to 8,192, without gaps.
  std::vector<Checkpoint> first_progress;
  std::vector<Sampled> first_device_steps;
  /// Progress of all accelerators but the first; everything else here describes the first.
  std::vector<Progress> others;
  std::vector<EpochRecord> epochs;  ///< the first 4,096
  std::vector<MetEpoch> met_epochs;  ///< the first 4,096, where accelerators meet after every step
  std::array<Reservoir, kSeriesCount> series;
  std::vector<ResourceSample> resources;
  /// Spans of the first and last kSpanBatches, in the order recorded; empty unless
  /// TraceOptions::keep_spans. No span is in both; last_spans is filled when the run has ended.
  std::vector<Span> first_spans, last_spans;
  EndReason end_reason = EndReason::kEnough;
  std::string failure;                 ///< set when end_reason is kFailed or kOutOfMemory
  /// Settings with which a run that was refused for its memory would fit, by key.
  std::vector<std::pair<std::string, std::string>> fits;
  std::vector<DataFault> bad_samples;  ///< the first 100
  std::int64_t bad_sample_count = 0;
  Effective effective;
  Probes probes;  ///< after the end of everything above
};

/// The empty trace of a run that ended at `at` before its first event.
RunTrace TraceOfNothing(base::Instant at, EndReason why, std::string failure = {});

/// Some thread of the run had this role; the device has one where it has a clock of its own.
inline bool Has(const RunTrace& trace, Role role) {
  for (const ThreadTotals& thread : trace.threads)
    if (thread.role == role) return true;
  return false;
}

/// The time that a thread (or all threads of a role) spent in `state` during [from, to). Buckets at
/// the edges count in proportion to the share of the thread's time in them that lies inside.
base::Duration TimeIn(const RunTrace& trace, const ThreadTotals& thread, State state,
                      base::Instant from, base::Instant to);
base::Duration TimeIn(const RunTrace& trace, Role role, State state, base::Instant from,
                      base::Instant to);

/// By bucket, up to the last one that is not zero.
std::vector<base::Duration> TimesPerBucket(const RunTrace& trace, const ThreadTotals& thread,
                                           State state);

}  // namespace pipesim::trace
