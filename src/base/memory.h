// How much memory this process may still take, whether the kernel has killed for want of it, and
// whether what it frees goes back at once. Reads what the kernel shows; plans nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::base {

/// One thing that bounds this process's memory.
struct MemoryBound {
  std::string name;  ///< "this machine", "the memory limit of cgroup /a/b", "ulimit -v"
  Bytes free;        ///< below 0: already beyond
  /// It counts what is mapped, touched or not: every thread's whole stack too.
  bool counts_mapped = false;
};

/// Everything that bounds it and can be read: the machine (MemAvailable), each memory cgroup, and
/// the limits of the process itself (RLIMIT_AS, RLIMIT_DATA).
std::vector<MemoryBound> ReadMemoryBounds(const std::filesystem::path& root = "/");

/// The tightest; nullopt when nothing could be read.
std::optional<MemoryBound> Tightest(const std::vector<MemoryBound>& bounds);

/// Processes killed for want of memory so far: of this process's cgroup, or of the whole machine
/// where no cgroup counts (/proc/vmstat: oom_kill). nullopt when neither does.
std::optional<std::int64_t> OomKills(const std::filesystem::path& root = "/");

/// Lets an allocation fail, in this process alone, where the kernel would otherwise kill: sets the
/// soft RLIMIT_DATA to what the process holds now plus `more`; never raises it. Only private
/// writable mappings count (setrlimit(2)), so shared and file mappings stay outside. False when the
/// kernel refuses or does not tell.
bool LimitOwnData(Bytes more);

/// From now on what this process frees serves its next allocations, up to some dozen megabytes,
/// instead of going back to the kernel, which hands it out again a cleared page at a time: for who
/// allocates the same again and again, as one prediction after another does. Not where the cost of
/// fresh memory is what is measured.
void KeepFreedMemory();

}  // namespace pipesim::base
