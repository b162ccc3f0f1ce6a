#include "engine/threaded/resource_reader.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "base/clock.h"
#include "base/proc.h"

namespace pipesim::engine::threaded {

using base::Duration;

namespace {

base::Bytes Resident() {
  std::istringstream fields(base::ReadProcFile("/proc/self/statm"));
  std::int64_t size = 0, resident = 0;
  if (!(fields >> size >> resident)) return {-1};
  return {resident * sysconf(_SC_PAGESIZE)};
}

template <class Value>
std::optional<Value> Since(const std::optional<Value>& begin, const std::optional<Value>& now) {
  if (!begin || !now) return std::nullopt;
  return *now - *begin;
}

}  // namespace

void ThreadIds::AddSelf(std::optional<trace::Role> role) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({role, gettid()});
}

std::vector<ThreadIds::Entry> ThreadIds::all() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

ResourceReader::ResourceReader(const base::CpuAllowance& cpus, const ThreadIds& threads,
                               std::optional<base::Disk> disk)
    : cpus_(cpus.cpus), threads_(threads), disk_(std::move(disk)), begin_(ReadCounters()) {}

ResourceReader::Counters ResourceReader::ReadCounters() const {
  Counters counters;
  counters.process_cpu = base::ProcessCpuTime();
  counters.machine_cpu = base::BusyTimeOf(cpus_);
  if (const auto throttling = base::ReadThrottling()) counters.throttled = throttling->throttled;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) counters.major_faults = usage.ru_majflt;
  return counters;
}

// /proc/self/task/<tid>/schedstat: "<ns on a core> <ns runnable without one> <slices>".
std::optional<ResourceReader::Scheduled> ResourceReader::ReadScheduled(pid_t thread) {
  std::istringstream fields(base::ReadProcFile(fmt::format("/proc/self/task/{}/schedstat", thread)));
  std::int64_t on_core_ns = 0, waited_ns = 0;
  if (!(fields >> on_core_ns >> waited_ns)) return std::nullopt;
  return Scheduled{Duration(on_core_ns), Duration(waited_ns)};
}

void ResourceReader::WatchNewThreads() {
  // Registered threads first, so that none is counted as a pool thread.
  std::vector<ThreadIds::Entry> threads = threads_.all();
  for (const pid_t id : base::IdsIn("/proc/self/task"))
    threads.push_back({trace::Role::kConsumer, id});
  for (const ThreadIds::Entry& thread : threads) {
    const auto same = [&](const Watched& watched) { return watched.thread.id == thread.id; };
    const auto known = std::find_if(watched_.begin(), watched_.end(), same);
    if (known == watched_.end()) {
      watched_.push_back({thread, std::nullopt, std::nullopt});
    } else if (thread.role != trace::Role::kConsumer) {
      known->thread.role = thread.role;  // it was seen before it registered
    }
  }
}

void ResourceReader::ReadThreads(trace::ResourceSample& sample) {
  WatchNewThreads();
  for (Watched& watched : watched_) {
    if (const auto now = ReadScheduled(watched.thread.id)) {
      // Workers start with the run; the consumer's threads may have used CPU time before it.
      if (!watched.first) {
        watched.first = watched.thread.role == trace::Role::kConsumer ? *now : Scheduled{};
      }
      watched.last = now;
    }
    if (!watched.first || !watched.last || !watched.thread.role) continue;
    const auto role = static_cast<std::size_t>(*watched.thread.role);
    const auto add = [](std::optional<Duration>& sum, Duration more) {
      sum = sum.value_or(Duration::zero()) + more;
    };
    add(sample.on_core[role], watched.last->on_core - watched.first->on_core);
    add(sample.run_queue_wait[role], watched.last->waited - watched.first->waited);
  }
}

trace::ResourceSample ResourceReader::Read(base::Instant now, const cost::StorageUse& storage) {
  const Counters counters = ReadCounters();
  trace::ResourceSample sample;
  sample.at = now;
  sample.process_cpu = counters.process_cpu - begin_.process_cpu;
  sample.machine_cpu = Since(begin_.machine_cpu, counters.machine_cpu);
  sample.resident = Resident();
  sample.storage_reads = storage.reads;
  sample.storage_bytes = storage.bytes;
  sample.storage_bandwidth_busy = storage.bandwidth_busy;
  sample.storage_iops_busy = storage.iops_busy;
  sample.throttled = Since(begin_.throttled, counters.throttled);
  sample.swapped_in_pages = Since(begin_.major_faults, counters.major_faults);
  if (disk_) {
    sample.disk = base::ReadDiskCounters(*disk_);
    // The kernel only counts reads from block devices; for other file systems this would be 0.
    sample.fetched = base::FetchedByProcess();
  }
  ReadThreads(sample);
  return sample;
}

}  // namespace pipesim::engine::threaded
