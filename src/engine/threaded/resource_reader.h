// Reads the resources that the process and the machine have used since a run began, from /proc and
// the cgroup.
#pragma once

#include <sys/types.h>

#include <array>
#include <mutex>
#include <optional>
#include <vector>

#include "base/cpus.h"
#include "base/disk.h"
#include "base/units.h"
#include "cost/storage.h"
#include "trace/run_trace.h"

namespace pipesim::engine::threaded {

/// The threads of a run as the kernel knows them. Thread-safe.
class ThreadIds {
 public:
  struct Entry {
    std::optional<trace::Role> role;  ///< nullopt: no part of the pipeline
    pid_t id;
  };
  /// Registers the calling thread. A thread that never registers counts to the consumer: it is of
  /// the trainer's pool (libgomp, autograd), which records no spans.
  void AddSelf(std::optional<trace::Role> role);
  std::vector<Entry> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// Used by one thread. Counters start at 0 at construction.
class ResourceReader {
 public:
  /// `disk`: of the real files, where it is known.
  ResourceReader(const base::CpuAllowance& cpus, const ThreadIds& threads,
                 std::optional<base::Disk> disk = std::nullopt);

  trace::ResourceSample Read(base::Instant now, const cost::StorageUse& storage);

 private:
  /// Of one thread, by the kernel's scheduler.
  struct Scheduled {
    base::Duration on_core{}, waited{};
  };
  struct Watched {
    ThreadIds::Entry thread;
    std::optional<Scheduled> first, last;  ///< the last outlives the thread
  };
  static std::optional<Scheduled> ReadScheduled(pid_t thread);
  void WatchNewThreads();
  void ReadThreads(trace::ResourceSample& sample);

  struct Counters {
    base::Duration process_cpu{};
    std::optional<base::Duration> machine_cpu;
    std::optional<base::Duration> throttled;
    std::optional<std::int64_t> major_faults;
  };
  Counters ReadCounters() const;

  std::vector<int> cpus_;
  const ThreadIds& threads_;
  std::optional<base::Disk> disk_;
  std::vector<Watched> watched_;
  Counters begin_;
};

}  // namespace pipesim::engine::threaded
