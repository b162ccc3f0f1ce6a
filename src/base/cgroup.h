// The limits of CPU and memory that cgroups set for this process, version 1 and 2, found through
// /proc/self/cgroup and /proc/self/mountinfo under `root`. Reads only what the kernel shows; knows
// no container runtime.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/cpus.h"
#include "base/units.h"

namespace pipesim::base {

/// The smallest quota, in cores, of the process's cgroup and those above it; nullopt when none is
/// set. Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
/// scheduler/sched-bwc.rst (cpu.cfs_quota_us).
std::optional<double> CgroupCpuQuota(const std::filesystem::path& root);

/// Summed over the same cgroups (cpu.stat); nullopt when none of them counts it.
std::optional<Throttling> CgroupThrottling(const std::filesystem::path& root);

struct CgroupMemory {
  std::filesystem::path folder;
  Bytes limit;
  Bytes used;  ///< without pages of files, which the kernel gives up first
};

/// Each memory limit over this process, from the top down. Source: Linux,
/// Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.current, memory.stat) and
/// cgroup-v1/memory.rst (memory.limit_in_bytes, memory.usage_in_bytes, memory.stat).
std::vector<CgroupMemory> CgroupMemoryLimits(const std::filesystem::path& root);

/// How many processes of this process's own cgroup the kernel has killed for want of memory, be it
/// the group's, a group's above it or the machine's; nullopt when nobody counts. Source: the same
/// (memory.events, memory.oom_control: oom_kill).
std::optional<std::int64_t> CgroupOomKills(const std::filesystem::path& root);

}  // namespace pipesim::base
