#include "app/commands/inventory.h"

#include <unistd.h>

#include <filesystem>

#include "app/installation.h"
#include "base/cgroup.h"
#include "base/cpus.h"
#include "base/memory.h"
#include "engine/gpu_list.h"
#include "engine/nvml.h"

namespace pipesim::app {
namespace {

spec::CpuInventory ReadCpu() {
  const base::CpuAllowance allowed = base::ReadCpuAllowance();
  spec::CpuInventory cpu;
  cpu.name = base::CpuModelName();
  cpu.processors = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  cpu.allowed = allowed.cpus;
  cpu.physical_cores = static_cast<int>(base::PhysicalCores(allowed.cpus).size());
  cpu.quota_cores = allowed.quota;
  cpu.cores = allowed.Cores();
  cpu.cgroup = base::SchedulingCgroup("self", "/");
  if (const auto bound = base::Tightest(base::ReadMemoryBounds())) {
    cpu.memory_free = bound->free;
    cpu.memory_limit = bound->name;
  }
  return cpu;
}

/// Signals and parts that a report leaves out on this machine.
std::vector<spec::Unavailable> ReadUnavailable(const engine::GpuList& gpus, bool has_quota) {
  std::vector<spec::Unavailable> missing;
  const auto add = [&](const char* what, const std::string& why) { missing.push_back({what, why}); };
  if (gpus.gpus.empty()) add("GPUs", gpus.why_none);
  if (!FindTorchPlugin())
    add("training on a CPU or GPU",
        "this pipesim was built without LibTorch (preset no-torch); --device emulated and predict work");
  if (!gpus.gpus.empty() && !engine::LoadNvml())
    add("GPU utilization, free GPU memory, PCIe and NVLink",
        "there is no NVML (libnvidia-ml.so.1, part of the driver)");
  if (!std::filesystem::exists("/proc/self/schedstat"))
    add("waiting for a core, by the kernel's account",
        "this kernel has no /proc/self/schedstat (CONFIG_SCHED_INFO)");
  if (has_quota && !base::ReadThrottling())
    add("CPU throttling", "no cpu.stat of this process's cgroups can be read");
  if (!base::OomKills())
    add("whether the kernel killed a run for memory",
        "neither the cgroup nor /proc/vmstat reports oom_kill");
  return missing;
}

}  // namespace

spec::Inventory ReadInventory() {
  engine::GpuList list = engine::ListGpus(engine::LoadCudaDriver(), engine::LoadNvmlQueries());
  spec::Inventory inventory;
  inventory.cpu = ReadCpu();
  inventory.unavailable = ReadUnavailable(list, inventory.cpu.quota_cores.has_value());
  inventory.driver_version = std::move(list.driver_version);
  inventory.cuda_version = std::move(list.cuda_version);
  inventory.gpus = std::move(list.gpus);
  return inventory;
}

}  // namespace pipesim::app
