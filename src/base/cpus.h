// Which processors this process may use, and pinning it to fewer. Reads affinity, cgroup v1/v2
// quota and the topology (hwloc); knows nothing of what will run on them. `root` is where /proc and
// the cgroup mounts are looked up: "/" but for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::base {

struct CpuAllowance {
  std::vector<int> cpus;        ///< logical processors of the affinity mask, ascending
  std::optional<double> quota;  ///< cores that the cgroup's CPU quota allows, if any
  /// What may run at once: min(|cpus|, quota), > 0.
  double Cores() const;
};

/// The smallest quota of this process's cgroup and those above it counts.
CpuAllowance ReadCpuAllowance(const std::filesystem::path& root = "/");

/// Logical processors grouped by physical core, each group and the groups ascending. Loads the
/// topology (tens of milliseconds on large machines): call it only when it matters.
std::vector<std::vector<int>> PhysicalCores(const std::vector<int>& cpus);

/// `count` processors out of `cores`, distinct physical cores first; ascending. count >= 1; at most
/// as many as there are.
std::vector<int> ChooseCpus(const std::vector<std::vector<int>>& cores, int count);

/// The same of what is allowed; loads the topology only when there is a choice.
std::vector<int> ChooseCpus(const CpuAllowance& allowed, int count);

/// Restricts the whole process (all current and later threads) to `cpus`. Call before any library
/// starts threads. Throws EnvironmentError when the kernel refuses.
void PinProcess(const std::vector<int>& cpus);

/// CPU throttling of this process's cgroup and those above it so far, summed; nullopt when none of
/// them counts it.
struct Throttling {
  std::int64_t periods_throttled = 0;
  Duration throttled{};
};
std::optional<Throttling> ReadThrottling(const std::filesystem::path& root = "/");

/// As /proc/cpuinfo names it; empty when it does not.
std::string CpuModelName(const std::filesystem::path& root = "/");

}  // namespace pipesim::base
