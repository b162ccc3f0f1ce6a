#include "engine/nvml.h"

#include <dlfcn.h>

#include <memory>

namespace pipesim::engine {
namespace {

constexpr int kSuccess = 0;  // NVML_SUCCESS

template <class Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

std::optional<double> Watts(NvmlFunctions::Power query, void* device) {
  unsigned int milliwatts = 0;
  if (query == nullptr || query(device, &milliwatts) != kSuccess) return std::nullopt;
  return milliwatts / 1000.0;
}

std::optional<double> Megahertz(NvmlFunctions::Clock query, void* device, int type) {
  unsigned int mhz = 0;
  if (query == nullptr || query(device, type, &mhz) != kSuccess) return std::nullopt;
  return mhz;
}

trace::GpuReading Read(const NvmlFunctions& nvml, void* device) {
  trace::GpuReading reading;
  if (NvmlFunctions::Utilization rates; nvml.utilization(device, &rates) == kSuccess)
    reading.utilization = rates.gpu / 100.0;
  NvmlFunctions::Memory memory;
  if (nvml.memory != nullptr && nvml.memory(device, &memory) == kSuccess)
    reading.memory_used = base::Bytes{static_cast<std::int64_t>(memory.used)};
  reading.power_w = Watts(nvml.power, device);
  reading.sm_clock_mhz = Megahertz(nvml.clock, device, NvmlFunctions::kSmClock);
  reading.memory_clock_mhz = Megahertz(nvml.clock, device, NvmlFunctions::kMemoryClock);
  return reading;
}

}  // namespace

std::optional<NvmlFunctions> LoadNvml() {
  // Never closed: a driver library may keep threads and handlers of its own.
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  NvmlFunctions found;
  if (library == nullptr || !Find(library, "nvmlInit_v2", found.init) ||
      !Find(library, "nvmlShutdown", found.shutdown) ||
      !Find(library, "nvmlDeviceGetHandleByPciBusId_v2", found.device_by_pci) ||
      !Find(library, "nvmlDeviceGetUtilizationRates", found.utilization))
    return std::nullopt;
  Find(library, "nvmlDeviceGetMemoryInfo", found.memory);
  Find(library, "nvmlDeviceGetPowerUsage", found.power);
  Find(library, "nvmlDeviceGetEnforcedPowerLimit", found.power_limit);
  Find(library, "nvmlDeviceGetClockInfo", found.clock);
  Find(library, "nvmlDeviceGetMaxClockInfo", found.clock_limit);
  return found;
}

GpuMonitor MonitorGpu(const NvmlFunctions& nvml, const std::string& pci_bus_id) {
  if (nvml.init() != kSuccess) return {};
  const std::shared_ptr<void> session(nullptr, [nvml](void*) { nvml.shutdown(); });
  void* device = nullptr;
  if (nvml.device_by_pci(pci_bus_id.c_str(), &device) != kSuccess) return {};
  return {.read = [nvml, session, device] { return Read(nvml, device); },
          .limits = {.power_w = Watts(nvml.power_limit, device),
                     .sm_clock_mhz = Megahertz(nvml.clock_limit, device, NvmlFunctions::kSmClock)}};
}

}  // namespace pipesim::engine
