// Memory available to this process, the kernel's OOM-kill counters, and allocator settings. Plans
// nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::base {

/// One limit on this process's memory.
struct MemoryBound {
  std::string name;  ///< "this machine", "the memory limit of cgroup /a/b", "ulimit -v"
  Bytes free;        ///< negative when already exceeded
  /// Counts mapped memory, touched or not: also the full stack of every thread.
  bool counts_mapped = false;
};

/// Every readable limit: the machine (MemAvailable), each memory cgroup, and the process's own
/// (RLIMIT_AS, RLIMIT_DATA).
std::vector<MemoryBound> ReadMemoryBounds(const std::filesystem::path& root = "/");

/// The tightest; nullopt when nothing could be read.
std::optional<MemoryBound> Tightest(const std::vector<MemoryBound>& bounds);

/// OOM kills so far in this process's cgroup, or on the whole machine where no cgroup reports them
/// (/proc/vmstat: oom_kill). nullopt when neither does.
std::optional<std::int64_t> OomKills(const std::filesystem::path& root = "/");

/// Makes an allocation of this process fail before the OOM killer acts: lowers the soft RLIMIT_DATA
/// to the current use plus `more`; never raises it. The limit counts private writable mappings only
/// (setrlimit(2)), not shared or file mappings. Returns false when the kernel refuses or does not
/// report the current use.
bool LimitOwnData(Bytes more);

/// Keeps some dozen megabytes of freed memory in the process for later allocations instead of
/// returning it to the kernel, which would clear each page again. For code that allocates the same
/// amounts repeatedly, such as successive predictions. Do not use it where page faults are
/// measured.
void KeepFreedMemory();

}  // namespace pipesim::base
