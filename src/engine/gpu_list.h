// The GPUs that CUDA shows this process, without LibTorch and without a context on them: the CUDA
// driver numbers them, NVML knows their links. Both come with the driver and are loaded at run time;
// their headers are not needed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "spec/inventory.h"

namespace pipesim::engine {

/// Functions of libcuda.so.1 as cuda.h declares them: an int result is CUresult, 0 is success, a
/// device is an int. Source: CUDA Driver API, 13.0.
struct CudaDriver {
  int (*init)(unsigned int flags) = nullptr;                       ///< cuInit
  int (*version)(int* version) = nullptr;                          ///< cuDriverGetVersion
  int (*error_text)(int result, const char** text) = nullptr;      ///< cuGetErrorString
  int (*count)(int* count) = nullptr;                              ///< cuDeviceGetCount
  int (*get)(int* device, int ordinal) = nullptr;                  ///< cuDeviceGet
  int (*name)(char* name, int size, int device) = nullptr;         ///< cuDeviceGetName
  int (*memory)(std::size_t* bytes, int device) = nullptr;         ///< cuDeviceTotalMem_v2
  int (*attribute)(int* value, int which, int device) = nullptr;   ///< cuDeviceGetAttribute
  int (*bus_id)(char* id, int size, int device) = nullptr;         ///< cuDeviceGetPCIBusId
};

/// Functions of libnvidia-ml.so.1 as nvml.h declares them: 0 is success, a device is an opaque pointer.
/// Source: NVML API Reference, vR580. Those after device_by_pci may be missing in older drivers.
struct NvmlQueries {
  struct Memory {  ///< nvmlMemory_t
    unsigned long long total = 0, free = 0, used = 0;
  };
  using Number = int (*)(void* device, unsigned int* value);
  int (*init)() = nullptr;                                              ///< nvmlInit_v2
  int (*shutdown)() = nullptr;                                          ///< nvmlShutdown
  int (*device_by_pci)(const char* bus_id, void** device) = nullptr;    ///< ...HandleByPciBusId_v2
  int (*driver_version)(char* text, unsigned int size) = nullptr;       ///< nvmlSystemGet...
  int (*memory)(void* device, Memory* memory) = nullptr;                ///< nvmlDeviceGetMemoryInfo
  Number generation = nullptr, lanes = nullptr;                         ///< ...CurrPcieLink...
  Number generation_most = nullptr, lanes_most = nullptr;               ///< ...MaxPcieLink...
  /// nvmlDeviceGetNvLinkState: `active` 1 where the link is up
  int (*nvlink)(void* device, unsigned int link, unsigned int* active) = nullptr;
  /// nvmlDeviceGetP2PStatus
  int (*peer)(void* one, void* other, int capability, int* status) = nullptr;
};

/// nullopt: the library or one of the functions that are needed is missing.
std::optional<CudaDriver> LoadCudaDriver();
std::optional<NvmlQueries> LoadNvmlQueries();

struct GpuList {
  std::vector<spec::Gpu> gpus;  ///< in CUDA's order
  std::string driver_version, cuda_version;
  std::string why_none;  ///< where `gpus` is empty
};

/// Lists the GPUs. What NVML cannot tell is absent.
GpuList ListGpus(const std::optional<CudaDriver>& driver, const std::optional<NvmlQueries>& nvml);

}  // namespace pipesim::engine
