#include "base/cpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/proc.h"
#include "base/text.h"

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

struct CpuSetFree {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, CpuSetFree>;

std::vector<int> AffinityCpus() {
  // The kernel refuses (EINVAL) a set smaller than its own mask: grow until it fits.
  for (int room = 1024; room <= 1 << 20; room *= 2) {
    const CpuSet set(CPU_ALLOC(room));
    const std::size_t size = CPU_ALLOC_SIZE(room);
    CPU_ZERO_S(size, set.get());
    if (sched_getaffinity(0, size, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < room; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  throw EnvironmentError(fmt::format(
      "cannot read the CPU affinity of this process: {}; check the container's seccomp profile",
      std::strerror(errno)));
}

struct TopologyFree {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

// Filters out everything but cores and processors, which makes loading several times faster.
std::unique_ptr<hwloc_topology, TopologyFree> LoadTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  std::unique_ptr<hwloc_topology, TopologyFree> topology(raw);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

}  // namespace

double CpuAllowance::Cores() const {
  const double count = std::max<double>(static_cast<double>(cpus.size()), 1);
  return quota ? std::min(count, *quota) : count;
}

CpuAllowance ReadCpuAllowance(const fs::path& root) {
  CpuAllowance allowance;
  allowance.cpus = AffinityCpus();
  allowance.quota = CgroupCpuQuota(root);
  return allowance;
}

std::vector<std::vector<int>> PhysicalCores(const std::vector<int>& cpus) {
  const auto topology = LoadTopology();
  std::map<int, std::vector<int>> by_first;  // processors of a core, keyed by the lowest one
  for (const int cpu : std::set<int>(cpus.begin(), cpus.end())) {
    int first = cpu;
    if (topology) {
      hwloc_obj* unit = hwloc_get_pu_obj_by_os_index(topology.get(), static_cast<unsigned>(cpu));
      hwloc_obj* core =
          unit ? hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, unit) : nullptr;
      // A processor without a known core counts as a core of its own.
      if (core) first = hwloc_bitmap_first(core->cpuset);
    }
    by_first[first].push_back(cpu);
  }
  std::vector<std::vector<int>> cores;
  for (auto& [first, group] : by_first) cores.push_back(std::move(group));
  std::sort(cores.begin(), cores.end());
  return cores;
}

std::vector<int> ChooseCpus(const std::vector<std::vector<int>>& cores, int count) {
  std::vector<int> chosen;
  std::size_t most = 0;
  for (const auto& core : cores) most = std::max(most, core.size());
  for (std::size_t sibling = 0; sibling < most; ++sibling) {
    for (const auto& core : cores) {
      if (sibling < core.size() && static_cast<int>(chosen.size()) < count) {
        chosen.push_back(core[sibling]);
      }
    }
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int> ChooseCpus(const CpuAllowance& allowed, int count) {
  if (count >= static_cast<int>(allowed.cpus.size())) return allowed.cpus;
  return ChooseCpus(PhysicalCores(allowed.cpus), count);
}

void PinProcess(const std::vector<int>& cpus) {
  const int room = cpus.empty() ? 1 : *std::max_element(cpus.begin(), cpus.end()) + 1;
  const CpuSet set(CPU_ALLOC(room));
  const std::size_t size = CPU_ALLOC_SIZE(room);
  CPU_ZERO_S(size, set.get());
  for (const int cpu : cpus) CPU_SET_S(cpu, size, set.get());
  // A thread inherits its creator's mask. Once a pass finds no new thread, all threads are pinned,
  // and so is every thread they will create.
  std::set<pid_t> pinned;
  for (bool found = true; found;) {
    found = false;
    for (const pid_t thread : IdsIn("/proc/self/task")) {
      if (!pinned.insert(thread).second) continue;
      found = true;
      if (sched_setaffinity(thread, size, set.get()) == 0 || errno == ESRCH) continue;
      throw EnvironmentError(
          fmt::format("cannot restrict this process to the processors {}: {}; name processors that "
                      "`taskset -p $$` allows",
                      fmt::join(cpus, ","), std::strerror(errno)));
    }
  }
}

std::optional<Throttling> ReadThrottling(const fs::path& root) { return CgroupThrottling(root); }

std::string CpuModelName(const fs::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos &&
        Trim(std::string_view(line).substr(0, colon)) == "model name") {
      return Printable(Trim(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

}  // namespace pipesim::base
