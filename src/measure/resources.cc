#include "measure/resources.h"

#include <algorithm>

#include "measure/rates.h"

namespace pipesim::measure {
namespace {

using trace::ResourceSample;

/// Less than this share of the window covered by samples says too little about the whole.
constexpr double kLeastCovered = 0.5;

/// Two neighbouring samples and the place of an instant between them, 0..1.
struct Place {
  const ResourceSample* before;
  const ResourceSample* after;
  double share;
};

Place Find(const std::vector<ResourceSample>& samples, base::Instant at) {
  auto after = std::lower_bound(
      samples.begin(), samples.end(), at,
      [](const ResourceSample& sample, base::Instant when) { return sample.at < when; });
  if (after == samples.begin()) return {&*after, &*after, 0};
  if (after == samples.end()) return {&samples.back(), &samples.back(), 0};
  const auto before = after - 1;
  const double gap_s = base::ToSeconds(after->at - before->at);
  return {&*before, &*after, gap_s > 0 ? base::ToSeconds(at - before->at) / gap_s : 1};
}

template <class Read>  // Read: const ResourceSample& -> double
double Move(const Place& from, const Place& to, Read read) {
  const auto at = [&read](const Place& place) {
    const double before = read(*place.before);
    return before + (read(*place.after) - before) * place.share;
  };
  return at(to) - at(from);
}

/// nullopt unless every sample that is needed has the reading.
template <class Read>  // Read: const ResourceSample& -> optional<double>
std::optional<double> MoveIfRead(const Place& from, const Place& to, Read read) {
  for (const ResourceSample* sample : {from.before, from.after, to.before, to.after}) {
    if (!read(*sample)) return std::nullopt;
  }
  return Move(from, to, [&read](const ResourceSample& sample) { return *read(sample); });
}

std::optional<double> SecondsOf(const std::optional<Duration>& duration) {
  if (!duration || *duration < Duration::zero()) return std::nullopt;
  return base::ToSeconds(*duration);
}

std::optional<CounterMoves::DiskMoves> DiskMovesIn(const Place& from, const Place& to) {
  const auto move = [&](auto read) {
    return MoveIfRead(from, to, [read](const ResourceSample& s) {
      return s.disk ? std::optional<double>(read(*s.disk)) : std::nullopt;
    });
  };
  using Counters = base::DiskCounters;
  const auto reads = move([](const Counters& d) { return static_cast<double>(d.reads); });
  if (!reads) return std::nullopt;
  return CounterMoves::DiskMoves{
      .reads = *reads,
      .read_bytes =
          *move([](const Counters& d) { return static_cast<double>(d.read_bytes.count); }),
      .reading_s = *move([](const Counters& d) { return base::ToSeconds(d.reading); }),
      .busy_s = *move([](const Counters& d) { return base::ToSeconds(d.busy); }),
      .queued_s = *move([](const Counters& d) { return base::ToSeconds(d.queued); })};
}

std::optional<Disk> DiskUse(const std::string& name, const CounterMoves& moves) {
  if (!moves.disk || name.empty()) return std::nullopt;
  const CounterMoves::DiskMoves& disk = *moves.disk;
  Disk use{.name = name,
           .reads_per_s = disk.reads / moves.covered_s,
           .read_bytes_per_s = disk.read_bytes / moves.covered_s,
           .await_s = {},
           .utilization = disk.busy_s / moves.covered_s,
           .queue_length = disk.queued_s / moves.covered_s};
  // Interpolation leaves fractions of a read.
  if (disk.reads >= 1) use.await_s = disk.reading_s / disk.reads;
  return use;
}

using Reading = std::optional<double> trace::GpuReading::*;

/// The mean of the readings inside the window; of all, where the window is too short to hold one.
std::optional<double> MeanOf(const trace::RunTrace& trace, const Window& window, Reading reading) {
  double sum = 0, sum_inside = 0;
  int count = 0, inside = 0;
  for (const ResourceSample& sample : trace.resources) {
    const std::optional<double> value = sample.gpu.*reading;
    if (!value) continue;
    sum += *value;
    ++count;
    if (sample.at < window.from || sample.at > window.to) continue;
    sum_inside += *value;
    ++inside;
  }
  if (inside > 0) return sum_inside / inside;
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<Gpu> GpuUse(const trace::RunTrace& trace, const Window& window) {
  using Readings = trace::GpuReading;
  const Gpu gpu{.power_w = MeanOf(trace, window, &Readings::power_w),
                .power_limit_w = trace.effective.gpu_limits.power_w,
                .sm_clock_mhz = MeanOf(trace, window, &Readings::sm_clock_mhz),
                .sm_clock_limit_mhz = trace.effective.gpu_limits.sm_clock_mhz,
                .memory_clock_mhz = MeanOf(trace, window, &Readings::memory_clock_mhz)};
  if (!gpu.power_w && !gpu.sm_clock_mhz && !gpu.memory_clock_mhz) return std::nullopt;
  return gpu;
}

void FillCpu(Resources& r, const CounterMoves& moves) {
  if (moves.process_cpu_s) r.cores_used = *moves.process_cpu_s / moves.covered_s;
  if (r.cores_used && r.cores > 0) r.cpu_utilization = *r.cores_used / r.cores;
  if (moves.process_cpu_s && moves.machine_cpu_s) {
    // The machine's counter has the resolution of scheduler ticks, the process's does not: clamp at
    // 0.
    r.foreign_cores =
        std::max(0.0, (*moves.machine_cpu_s - *moves.process_cpu_s) / moves.covered_s);
  }
  r.trainer_contended_fraction = TrainerContendedFraction(moves);
  // Without workers there is no wait of theirs.
  if (moves.process_cpu_s && moves.trainer_wait_s)
    r.runnable_threads = (*moves.process_cpu_s + *moves.trainer_wait_s +
                          moves.worker_wait_s.value_or(0)) / moves.covered_s;
  if (moves.throttled_s) r.throttled_fraction = *moves.throttled_s / moves.covered_s;
}

}  // namespace

std::optional<double> TrainerContendedFraction(const CounterMoves& moves) {
  if (!moves.trainer_wait_s || !moves.trainer_on_core_s) return std::nullopt;
  const double wanted_s = *moves.trainer_wait_s + *moves.trainer_on_core_s;
  return wanted_s > 0 ? std::optional(*moves.trainer_wait_s / wanted_s) : std::nullopt;
}

std::optional<CounterMoves> MovesIn(const trace::RunTrace& trace, const Window& window) {
  const std::vector<ResourceSample>& samples = trace.resources;
  if (samples.size() < 2) return std::nullopt;
  const base::Instant begin = std::max(window.from, samples.front().at);
  const base::Instant end = std::min(window.to, samples.back().at);
  CounterMoves moves;
  moves.covered_s = base::ToSeconds(end - begin);
  if (moves.covered_s < kLeastCovered * base::ToSeconds(window.to - window.from)) {
    return std::nullopt;
  }
  const Place from = Find(samples, begin), to = Find(samples, end);
  moves.process_cpu_s =
      MoveIfRead(from, to, [](const auto& s) { return SecondsOf(s.process_cpu); });
  moves.machine_cpu_s =
      MoveIfRead(from, to, [](const auto& s) { return SecondsOf(s.machine_cpu); });
  moves.throttled_s = MoveIfRead(from, to, [](const auto& s) { return SecondsOf(s.throttled); });
  const auto worker = static_cast<std::size_t>(trace::Role::kWorker);
  const auto trainer = static_cast<std::size_t>(trace::Role::kConsumer);
  moves.worker_wait_s =
      MoveIfRead(from, to, [&](const auto& s) { return SecondsOf(s.run_queue_wait[worker]); });
  moves.trainer_wait_s =
      MoveIfRead(from, to, [&](const auto& s) { return SecondsOf(s.run_queue_wait[trainer]); });
  moves.trainer_on_core_s =
      MoveIfRead(from, to, [&](const auto& s) { return SecondsOf(s.on_core[trainer]); });
  moves.swapped_in_pages = MoveIfRead(from, to, [](const auto& s) {
    return s.swapped_in_pages ? std::optional(static_cast<double>(*s.swapped_in_pages))
                              : std::nullopt;
  });
  moves.storage_reads =
      Move(from, to, [](const auto& s) { return static_cast<double>(s.storage_reads); });
  moves.storage_bytes =
      Move(from, to, [](const auto& s) { return static_cast<double>(s.storage_bytes.count); });
  moves.storage_bandwidth_busy_s =
      Move(from, to, [](const auto& s) { return base::ToSeconds(s.storage_bandwidth_busy); });
  moves.storage_iops_busy_s =
      Move(from, to, [](const auto& s) { return base::ToSeconds(s.storage_iops_busy); });
  moves.disk = DiskMovesIn(from, to);
  return moves;
}

std::optional<double> StorageUtilization(const cost::Storage& storage, const CounterMoves& moves) {
  std::optional<double> share;
  const auto consider = [&share](double one) { share = std::max(share.value_or(0), one); };
  const cost::StorageLimits limits = storage.Limits();
  if (limits.bytes_per_s) consider(moves.storage_bandwidth_busy_s / moves.covered_s);
  if (limits.reads_per_s) consider(moves.storage_iops_busy_s / moves.covered_s);
  if (limits.parallel_reads_per_s)
    consider(moves.storage_reads / moves.covered_s * storage.SlotSeconds() / *storage.queue_depth);
  return share;
}

std::optional<double> FetchedBytes(const trace::RunTrace& trace, base::Instant from,
                                   base::Instant to) {
  // Read rates change between samples: with five inside, the parts beyond the outer two are at most
  // a third of the interval.
  constexpr std::ptrdiff_t kLeastInside = 5;
  const std::vector<ResourceSample>& samples = trace.resources;
  const auto earlier = [](const ResourceSample& sample, base::Instant at) {
    return sample.at < at;
  };
  const auto first = std::lower_bound(samples.begin(), samples.end(), from, earlier);
  const auto end = std::lower_bound(first, samples.end(), to, earlier);
  if (end - first < kLeastInside) return std::nullopt;
  return MoveIfRead(Find(samples, from), Find(samples, to), [](const ResourceSample& s) {
    return s.fetched ? std::optional(static_cast<double>(s.fetched->count)) : std::nullopt;
  });
}

Resources ResourcesIn(const trace::RunTrace& trace, const Window& window,
                      const spec::Experiment& experiment, const cost::Storage& storage,
                      const std::optional<CounterMoves>& moves,
                      std::optional<double> loading_cpu_s_per_step) {
  Resources r;
  r.cores = trace.effective.cores;
  r.gpu_utilization_nvml = MeanOf(trace, window, &trace::GpuReading::utilization);
  r.gpu = GpuUse(trace, window);
  r.page_cached_fraction = trace.effective.page_cached_fraction;
  if (moves) {
    FillCpu(r, *moves);
    if (r.foreign_cores) r.peer_cores = std::min(trace.effective.peer_cores, *r.foreign_cores);
    r.storage_utilization = StorageUtilization(storage, *moves);
    r.storage_bytes_per_s = moves->storage_bytes / moves->covered_s;
    r.reads_per_s = moves->storage_reads / moves->covered_s;
    r.disk = DiskUse(trace.effective.disk, *moves);
  } else if (experiment.storage.kind != spec::StorageKind::kNone) {
    // Without counters: what the pipeline needs, one read a sample.
    r.reads_per_s = SamplesPerSecondOfAll(trace, window);
    r.storage_bytes_per_s =
        r.reads_per_s * static_cast<double>(experiment.dataset.sample_bytes.Mean().count);
  }
  if (loading_cpu_s_per_step) {
    const double steps_per_s = static_cast<double>(window.last_step - window.first_step) /
                               base::ToSeconds(window.to - window.from) *
                               AllOverFirst(trace, window);
    r.cores_used_loading = *loading_cpu_s_per_step * steps_per_s;
    const bool cpu_trains = !trace.effective.device_asynchronous;
    if (cpu_trains && r.cores_used) {
      r.cores_used_training = std::max(0.0, *r.cores_used - *r.cores_used_loading);
    }
  }
  return r;
}

Memory MemoryOf(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  Memory memory;
  std::int64_t peak = 0;
  for (const ResourceSample& sample : trace.resources) peak = std::max(peak, sample.resident.count);
  if (peak > 0) memory.rss_peak_bytes = peak;
  if (trace.effective.device_memory)
    memory.device_total_bytes = trace.effective.device_memory->count;
  if (trace.effective.device_memory_peak) {
    memory.device_peak_bytes = trace.effective.device_memory_peak->count;
  }
  memory.queued_bytes = experiment.run.accelerators * experiment.loader.Window() *
                        experiment.loader.batch_size *
                        spec::PreparedBytes(experiment.dataset).count;
  return memory;
}

}  // namespace pipesim::measure
