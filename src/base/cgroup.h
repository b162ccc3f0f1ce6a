// CPU and memory limits that cgroups v1 and v2 set for this process, found through
// /proc/self/cgroup and /proc/self/mountinfo under `root`. Knows no container runtime.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpus.h"
#include "base/units.h"

namespace pipesim::base {

/// The smallest quota, in cores, of the process's cgroup and its ancestors; nullopt when none is
/// set. Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
/// scheduler/sched-bwc.rst (cpu.cfs_quota_us).
std::optional<double> CgroupCpuQuota(const std::filesystem::path& root);

/// Summed over the same cgroups (cpu.stat); nullopt when none reports it.
std::optional<Throttling> CgroupThrottling(const std::filesystem::path& root);

/// The folder of the cgroup whose weight the kernel's scheduler gives to `process` ("self" or an id)
/// together with others; empty: none, or it cannot be read. Source: the same (cpu.weight) and
/// scheduler/sched-design-CFS.rst (cpu.shares).
std::string SchedulingCgroup(std::string_view process, const std::filesystem::path& root);

struct CgroupMemory {
  std::filesystem::path folder;
  Bytes limit;
  Bytes used;  ///< without the page cache, which the kernel reclaims first
};

/// Each memory limit of this process and its ancestor cgroups, root first. Source: Linux,
/// Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.current, memory.stat) and
/// cgroup-v1/memory.rst (memory.limit_in_bytes, memory.usage_in_bytes, memory.stat).
std::vector<CgroupMemory> CgroupMemoryLimits(const std::filesystem::path& root);

/// OOM kills in this process's own cgroup, whether the cgroup, an ancestor or the machine ran out
/// of memory; nullopt when the kernel does not report them. Source: the same (memory.events,
/// memory.oom_control: oom_kill).
std::optional<std::int64_t> CgroupOomKills(const std::filesystem::path& root);

}  // namespace pipesim::base
