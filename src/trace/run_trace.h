// Everything one run left behind, in bounded memory: the same whichever engine recorded it, and all
// that measure may look at. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/units.h"
#include "spec/device_id.h"
#include "trace/span.h"

namespace pipesim::trace {

/// At most this many buckets of time; one more, and all double in width.
inline constexpr std::size_t kMaxBuckets = 4096;

/// Time per state and bucket; bucket i covers [origin + i × width, + width). What lies before the
/// origin is not counted.
struct ThreadTotals {
  Role role = Role::kConsumer;
  std::uint16_t index = 0;
  base::Instant begin, end;  ///< first span's begin, last span's end
  /// By state, then bucket, at least up to the last that the thread was in that state: in most it
  /// never is, and those take no memory.
  std::array<std::vector<base::Duration>, kStateCount> times;
};

/// The consumer's progress at the end of some step; every `stride`-th step is kept, at most 4,096:
/// then the stride doubles.
struct Checkpoint {
  std::int64_t steps = 0;    ///< finished so far, this one included
  std::int64_t samples = 0;  ///< likewise
  std::int64_t epoch = 0;
  base::Instant at;
};

/// How far another accelerator of a run with several came, kept as the consumer's own progress is.
struct Progress {
  std::int64_t stride = 1;
  std::vector<Checkpoint> kept;
};

struct EpochRecord {
  std::int64_t epoch = 0;
  base::Instant begin,
      end;  ///< the previous epoch's last step (or the run's begin), its own last step
  base::Duration first_batch{};  ///< from begin until its first batch was in hand
  base::Duration starved{};
  std::int64_t steps = 0, samples = 0;
  std::int64_t reads = 0, cache_hits = 0;  ///< of its batches, as BatchRecord counts them
  base::Bytes bytes;                       ///< of those reads
  bool complete = false;
};

enum class Series : std::uint8_t {
  kStepTime,       ///< ns from one step's done to the next; none for the first step
  kStarved,        ///< ns waited for a batch, a step
  kOccupancy,      ///< batches, a step
  kReadTime,       ///< ns a batch, of one worker
  kReadCpuTime,    ///< ns of CPU time a batch
  kPrepareTime,    ///< ns a batch
  kCollateTime,    ///< ns a batch
  kContendedTime,  ///< ns a batch
  kDeviceStep,     ///< ns the device was busy with a step
  kTransferTime,   ///< ns a copy to the device took: by the device's clock if it tells any, else
                   ///< what the consumer spent in kTransfer a step
  kLoss,
};
inline constexpr int kSeriesCount = static_cast<int>(Series::kLoss) + 1;

/// A bounded sample of a series: the values with the smallest hashes of their keys, so that the
/// same run keeps the same values on any number of threads. At most kReservoirSize; in key order
/// once the run has ended.
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

/// A reading of what the process and the machine consumed so far. Counters since the run's begin
/// unless said; negative or nullopt where not readable.
struct ResourceSample {
  base::Instant at;
  base::Duration process_cpu{};
  std::optional<base::Duration> machine_cpu;  ///< busy time of the allowed processors, all programs
  base::Bytes resident;                       ///< at this moment
  std::int64_t storage_reads = 0;
  base::Bytes storage_bytes;
  base::Duration storage_bandwidth_busy{};
  base::Duration storage_iops_busy{};
  std::optional<base::Bytes> fetched;            ///< by this process from block devices
  std::optional<base::DiskCounters> disk;        ///< of the real files, since the machine's start
  std::optional<base::Duration> throttled;       ///< by the cgroup
  std::optional<std::int64_t> swapped_in_pages;  ///< by this process's major faults
  /// Of each role's threads, summed: the time on a core, and the time runnable without one. The
  /// consumer's include the threads of the trainer's own pool.
  std::array<std::optional<base::Duration>, kRoleCount> on_core, run_queue_wait;
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

/// A sample that was left out, or why the run failed.
struct DataFault {
  std::string item;  ///< file name, or "worker 3"
  std::string reason;
};

/// What really applied, as against what was asked for.
struct Effective {
  double cores = 0;
  std::vector<int> cpus;
  int compute_threads = 0;  ///< of the trainer; 0: it has none (emulated)
  spec::DeviceId device;    ///< not chosen: the run did not get as far as having one
  std::string device_name;  ///< marketing name or preset
  bool device_asynchronous = false;
  /// Real files: the block device that holds them (empty: unknown), and the share of their bytes
  /// that the page cache held when the run began.
  std::string disk;
  std::optional<double> page_cached_fraction;
  bool pinned = false;
  std::int64_t queue_capacity = 0;
  std::int64_t max_occupancy = 0;
  std::optional<base::Bytes> device_memory, device_memory_peak;
  std::int64_t model_parameters = 0;
  /// Time the device computes in one full step when nothing else disturbs it (graph replay, or steps
  /// of the CPU after the run), if known.
  std::optional<base::Duration> device_step;
  /// Of the same, where the CPU trains: CPU time of all its threads, and its time on one thread.
  std::optional<base::Duration> step_cpu, step_on_one_thread;
  std::optional<double> nvml_utilization;  ///< 0..1, mean over the run
};

/// Full spans are kept of this many batches at either end of a run, at most kKeptSpans at each end:
/// where batches hold more spans than that, of fewer batches.
inline constexpr std::int64_t kSpanBatches = 2000;
inline constexpr std::size_t kKeptSpans = 64 * kSpanBatches;

struct RunTrace {
  base::Instant begin, end;  ///< of the run, by the engine's wall clock
  base::Duration bucket_width{};
  base::Instant bucket_origin;
  std::vector<ThreadTotals> threads;
  std::int64_t steps = 0, samples = 0;
  std::optional<base::Instant> first_batch;  ///< the first batch was in hand
  std::int64_t checkpoint_stride = 1;
  std::vector<Checkpoint> progress;
  /// Of all accelerators but the first, which everything else here is of.
  std::vector<Progress> others;
  std::vector<EpochRecord> epochs;  ///< the first 4,096
  std::array<Reservoir, kSeriesCount> series;
  std::vector<ResourceSample> resources;
  /// Of the first and last kSpanBatches, in the order recorded. No span is in both; last_spans is
  /// filled when the run has ended.
  std::vector<Span> first_spans, last_spans;
  EndReason end_reason = EndReason::kEnough;
  std::string failure;                 ///< set when end_reason is kFailed or kOutOfMemory
  std::vector<DataFault> bad_samples;  ///< the first 100
  std::int64_t bad_sample_count = 0;
  Effective effective;
};

/// The time that a thread (or all of a role) spent in `state` during [from, to): edge buckets count
/// by the share of the thread's own time in them that lies inside.
base::Duration TimeIn(const RunTrace& trace, const ThreadTotals& thread, State state,
                      base::Instant from, base::Instant to);
base::Duration TimeIn(const RunTrace& trace, Role role, State state, base::Instant from,
                      base::Instant to);

}  // namespace pipesim::trace
