// Which processors this process may use, and pinning it to fewer. Reads affinity, cgroup v1/v2 quota
// and the topology (hwloc); knows nothing of what will run on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::base {

struct CpuAllowance {
  std::vector<int> cpus;             ///< logical processors of the affinity mask, ascending
  std::optional<double> quota;       ///< cores that the cgroup's CPU quota allows, if any
  int physical_cores = 0;            ///< distinct physical cores among `cpus`
  /// What may run at once: min(|cpus|, quota), > 0.
  double Cores() const;
};

CpuAllowance ReadCpuAllowance();

/// `count` processors out of `allowed`, distinct physical cores first. count >= 1; at most
/// |allowed| are returned.
std::vector<int> ChooseCpus(const CpuAllowance& allowed, int count);

/// Restricts the whole process (all current and later threads) to `cpus`. Call before any library
/// starts threads. Throws EnvironmentError when the kernel refuses.
void PinProcess(const std::vector<int>& cpus);

/// CPU throttling of this process's cgroup so far; nullopt when not readable.
struct Throttling {
  std::int64_t periods_throttled = 0;
  Duration throttled{};
};
std::optional<Throttling> ReadThrottling();

std::string CpuModelName();

}  // namespace pipesim::base
