// A GPU as NVML (nvidia-smi) shows it: utilization, memory, power and clocks, of all programs on it.
// NVML comes with the driver and is loaded at run time if present; its header is not needed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "trace/run_trace.h"

namespace pipesim::engine {

/// The functions used, as nvml.h declares them: an int result is nvmlReturn_t, 0 is NVML_SUCCESS,
/// and a device is an opaque pointer (nvmlDevice_t). Those after `utilization` may be missing.
/// Source: NVML API Reference, vR580.
struct NvmlFunctions {
  struct Utilization {                 ///< nvmlUtilization_t
    unsigned int gpu = 0, memory = 0;  ///< per cent
  };
  struct Memory {  ///< nvmlMemory_t
    unsigned long long total = 0, free = 0, used = 0;
  };
  using Power = int (*)(void* device, unsigned int* milliwatts);
  /// `type`: nvmlClockType_t
  using Clock = int (*)(void* device, int type, unsigned int* mhz);
  static constexpr int kSmClock = 1, kMemoryClock = 2;  ///< NVML_CLOCK_SM, NVML_CLOCK_MEM

  int (*init)() = nullptr;                                            ///< nvmlInit_v2
  int (*shutdown)() = nullptr;                                        ///< nvmlShutdown
  int (*device_by_pci)(const char* bus_id, void** device) = nullptr;  ///< ...HandleByPciBusId_v2
  int (*utilization)(void* device, Utilization* rates) = nullptr;     ///< ...GetUtilizationRates
  int (*memory)(void* device, Memory* memory) = nullptr;              ///< nvmlDeviceGetMemoryInfo
  Power power = nullptr;        ///< nvmlDeviceGetPowerUsage: from Ampere on the mean of a second
  Power power_limit = nullptr;  ///< nvmlDeviceGetEnforcedPowerLimit
  Clock clock = nullptr;        ///< nvmlDeviceGetClockInfo
  Clock clock_limit = nullptr;  ///< nvmlDeviceGetMaxClockInfo
};

/// Loads libnvidia-ml.so.1; nullopt when it or one of the functions up to `utilization` is missing.
std::optional<NvmlFunctions> LoadNvml();

struct GpuMonitor {
  /// Each figure that cannot be read is nullopt. Empty: NVML does not know the device. Its
  /// utilization is the share of the last sample period (1/6 s to 1 s) in which a kernel ran.
  std::function<trace::GpuReading()> read;
  trace::GpuLimits limits;
};

/// Of the device at `pci_bus_id` ("0000:1a:00.0", because CUDA and NVML number devices differently).
/// NVML stays open until the last copy of `read` is gone.
GpuMonitor MonitorGpu(const NvmlFunctions& nvml, const std::string& pci_bus_id);

}  // namespace pipesim::engine
