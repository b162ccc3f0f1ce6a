// Which processors this process may use, and pinning it to fewer. Reads affinity, cgroup v1/v2
// quota and the topology (hwloc). `root` is where /proc and the cgroup mounts are looked up: "/"
// except in tests.
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
  /// Cores usable at once: min(|cpus|, quota), > 0.
  double Cores() const;
};

/// The quota is the smallest of this process's cgroup and its ancestors.
CpuAllowance ReadCpuAllowance(const std::filesystem::path& root = "/");

/// Logical processors grouped by physical core, each group and the groups ascending. Loads the
/// topology, which takes tens of milliseconds on large machines.
std::vector<std::vector<int>> PhysicalCores(const std::vector<int>& cpus);

/// Up to `count` >= 1 processors out of `cores`, distinct physical cores first; ascending.
std::vector<int> ChooseCpus(const std::vector<std::vector<int>>& cores, int count);

/// The same for the allowed processors; loads the topology only when there is a choice.
std::vector<int> ChooseCpus(const CpuAllowance& allowed, int count);

/// Restricts the whole process (all current and later threads) to `cpus`. Call before any library
/// starts threads. Throws EnvironmentError when the kernel refuses.
void PinProcess(const std::vector<int>& cpus);

/// CPU throttling so far, summed over this process's cgroup and its ancestors; nullopt when none
/// reports it.
struct Throttling {
  std::int64_t periods_throttled = 0;
  Duration throttled{};
};
std::optional<Throttling> ReadThrottling(const std::filesystem::path& root = "/");

/// "model name" of /proc/cpuinfo; empty when it has none.
std::string CpuModelName(const std::filesystem::path& root = "/");

}  // namespace pipesim::base
