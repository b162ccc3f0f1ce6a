// GPU utilization as reported by NVML (nvidia-smi): the share of the last sample period (1/6 s to
// 1 s) in which at least one kernel ran, by all programs. NVML comes with the driver and is loaded
// at run time if present; its header is not needed.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace pipesim::engine {

/// The functions used, as nvml.h declares them: an int result is nvmlReturn_t, 0 is NVML_SUCCESS,
/// and a device is an opaque pointer (nvmlDevice_t). Source: NVML API Reference, vR580.
struct NvmlFunctions {
  struct Utilization {                 ///< nvmlUtilization_t
    unsigned int gpu = 0, memory = 0;  ///< per cent
  };
  int (*init)() = nullptr;                                            ///< nvmlInit_v2
  int (*shutdown)() = nullptr;                                        ///< nvmlShutdown
  int (*device_by_pci)(const char* bus_id, void** device) = nullptr;  ///< ...HandleByPciBusId_v2
  int (*utilization)(void* device, Utilization* rates) = nullptr;     ///< ...GetUtilizationRates
};

/// Loads libnvidia-ml.so.1; nullopt when it or one of the functions is missing.
std::optional<NvmlFunctions> LoadNvml();

/// Returns a function that reads the utilization, 0..1, of the device at `pci_bus_id`
/// ("0000:1a:00.0", because CUDA and NVML number devices differently) and returns nullopt on error.
/// Empty when NVML does not know the device.
std::function<std::optional<double>()> NvmlUtilization(const NvmlFunctions& nvml,
                                                       const std::string& pci_bus_id);

}  // namespace pipesim::engine
