// Reads what the process and the machine have consumed since a run began, out of /proc and the
// cgroup. Knows no threads but by their ids.
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
  /// The calling thread. A thread of the process that never says what it is counts to the consumer:
  /// the trainer's pool (libgomp's, autograd's), which no span sees.
  void AddSelf(std::optional<trace::Role> role);
  std::vector<Entry> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// One thread uses it. Counters start at 0 when it is made.
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
