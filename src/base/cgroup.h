// The CPU limits that cgroups set for this process, version 1 and 2, found through
// /proc/self/cgroup and /proc/self/mountinfo under `root`. Reads only what the kernel shows; knows
// no container runtime.
#pragma once

#include <filesystem>
#include <optional>

#include "base/cpus.h"

namespace pipesim::base {

/// The smallest quota, in cores, of the process's cgroup and those above it; nullopt when none is
/// set. Source: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
/// scheduler/sched-bwc.rst (cpu.cfs_quota_us).
std::optional<double> CgroupCpuQuota(const std::filesystem::path& root);

/// Summed over the same cgroups (cpu.stat); nullopt when none of them counts it.
std::optional<Throttling> CgroupThrottling(const std::filesystem::path& root);

}  // namespace pipesim::base
