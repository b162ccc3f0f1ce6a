#include "engine/gpu_list.h"

#include <dlfcn.h>

#include <array>

namespace pipesim::engine {
namespace {

constexpr int kDone = 0;  // CUDA_SUCCESS, NVML_SUCCESS
// CUdevice_attribute
constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr unsigned int kMostNvLinks = 18;  // NVML_NVLINK_MAX_LINKS
constexpr int kThroughNvLink = 2;          // NVML_P2P_CAPS_INDEX_NVLINK
constexpr int kPeerOk = 0;                 // NVML_P2P_STATUS_OK

template <class Function>
bool Take(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

std::string ErrorText(const CudaDriver& driver, int result) {
  const char* text = nullptr;
  if (driver.error_text(result, &text) == kDone && text != nullptr) return text;
  return "error " + std::to_string(result);
}

std::optional<int> AttributeOf(const CudaDriver& driver, int which, int device) {
  int value = 0;
  if (driver.attribute(&value, which, device) != kDone) return std::nullopt;
  return value;
}

/// nullopt where the driver does not answer.
std::optional<spec::Gpu> DescribeGpu(const CudaDriver& driver, int ordinal) {
  int device = 0;
  std::array<char, 128> name{};
  std::array<char, 32> bus_id{};
  std::size_t bytes = 0;
  if (driver.get(&device, ordinal) != kDone ||
      driver.name(name.data(), static_cast<int>(name.size() - 1), device) != kDone ||
      driver.bus_id(bus_id.data(), static_cast<int>(bus_id.size() - 1), device) != kDone ||
      driver.memory(&bytes, device) != kDone)
    return std::nullopt;
  spec::Gpu gpu;
  gpu.id = spec::DeviceId::Cuda(ordinal);
  gpu.name = name.data();
  gpu.pci_bus_id = bus_id.data();
  gpu.memory = {static_cast<std::int64_t>(bytes)};
  gpu.capability_major = AttributeOf(driver, kCapabilityMajor, device);
  gpu.capability_minor = AttributeOf(driver, kCapabilityMinor, device);
  gpu.multiprocessors = AttributeOf(driver, kMultiprocessors, device);
  return gpu;
}

std::optional<int> NumberOf(NvmlQueries::Number query, void* device) {
  unsigned int value = 0;
  if (query == nullptr || query(device, &value) != kDone) return std::nullopt;
  return static_cast<int>(value);
}

std::optional<spec::PcieLink> LinkOf(NvmlQueries::Number generation, NvmlQueries::Number lanes,
                                     void* device) {
  const auto first = NumberOf(generation, device), second = NumberOf(lanes, device);
  if (!first || !second) return std::nullopt;
  return spec::PcieLink{*first, *second};
}

/// nullopt: NVML cannot tell. A GPU without NVLink answers "not supported" for its first link.
std::optional<int> ActiveNvLinks(const NvmlQueries& nvml, void* device) {
  if (nvml.nvlink == nullptr) return std::nullopt;
  int active_links = 0;
  for (unsigned int link = 0; link < kMostNvLinks; ++link) {
    unsigned int active = 0;
    if (nvml.nvlink(device, link, &active) == kDone && active == 1) ++active_links;
  }
  return active_links;
}

void AddNvmlFacts(const NvmlQueries& nvml, void* device, spec::Gpu& gpu) {
  NvmlQueries::Memory memory;
  if (nvml.memory != nullptr && nvml.memory(device, &memory) == kDone)
    gpu.memory_free = base::Bytes{static_cast<std::int64_t>(memory.free)};
  gpu.link = LinkOf(nvml.generation, nvml.lanes, device);
  gpu.link_most = LinkOf(nvml.generation_most, nvml.lanes_most, device);
  gpu.nvlinks = ActiveNvLinks(nvml, device);
}

void AddNvmlFacts(const NvmlQueries& nvml, std::vector<spec::Gpu>& gpus) {
  std::vector<void*> devices(gpus.size(), nullptr);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (nvml.device_by_pci(gpus[i].pci_bus_id.c_str(), &devices[i]) != kDone) devices[i] = nullptr;
    if (devices[i] != nullptr) AddNvmlFacts(nvml, devices[i], gpus[i]);
  }
  if (nvml.peer == nullptr) return;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      int status = -1;
      if (i != j && devices[i] != nullptr && devices[j] != nullptr &&
          nvml.peer(devices[i], devices[j], kThroughNvLink, &status) == kDone && status == kPeerOk)
        gpus[i].nvlink_peers.push_back(gpus[j].id);
    }
}

std::string CudaVersionText(const CudaDriver& driver) {
  int version = 0;  // 13000: 13.0
  if (driver.version(&version) != kDone || version <= 0) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

// Neither library is ever closed: a driver may keep threads and handlers of its own.
std::optional<CudaDriver> LoadCudaDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CudaDriver found;
  if (library == nullptr || !Take(library, "cuInit", found.init) ||
      !Take(library, "cuDriverGetVersion", found.version) ||
      !Take(library, "cuGetErrorString", found.error_text) ||
      !Take(library, "cuDeviceGetCount", found.count) ||
      !Take(library, "cuDeviceGet", found.get) || !Take(library, "cuDeviceGetName", found.name) ||
      !Take(library, "cuDeviceTotalMem_v2", found.memory) ||
      !Take(library, "cuDeviceGetAttribute", found.attribute) ||
      !Take(library, "cuDeviceGetPCIBusId", found.bus_id))
    return std::nullopt;
  return found;
}

std::optional<NvmlQueries> LoadNvmlQueries() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  NvmlQueries found;
  if (library == nullptr || !Take(library, "nvmlInit_v2", found.init) ||
      !Take(library, "nvmlShutdown", found.shutdown) ||
      !Take(library, "nvmlDeviceGetHandleByPciBusId_v2", found.device_by_pci))
    return std::nullopt;
  Take(library, "nvmlSystemGetDriverVersion", found.driver_version);
  Take(library, "nvmlDeviceGetMemoryInfo", found.memory);
  const auto number = [&](const char* name) {
    return reinterpret_cast<NvmlQueries::Number>(dlsym(library, name));
  };
  found.generation = number("nvmlDeviceGetCurrPcieLinkGeneration");
  found.lanes = number("nvmlDeviceGetCurrPcieLinkWidth");
  found.generation_most = number("nvmlDeviceGetMaxPcieLinkGeneration");
  found.lanes_most = number("nvmlDeviceGetMaxPcieLinkWidth");
  Take(library, "nvmlDeviceGetNvLinkState", found.nvlink);
  Take(library, "nvmlDeviceGetP2PStatus", found.peer);
  return found;
}

GpuList ListGpus(const std::optional<CudaDriver>& driver, const std::optional<NvmlQueries>& nvml) {
  GpuList list;
  const bool has_nvml = nvml && nvml->init() == kDone;
  std::array<char, 96> version{};
  if (has_nvml && nvml->driver_version != nullptr &&
      nvml->driver_version(version.data(), static_cast<unsigned int>(version.size() - 1)) == kDone)
    list.driver_version = version.data();
  if (!driver) {
    list.why_none = "there is no NVIDIA driver (libcuda.so.1)";
  } else if (const int result = driver->init(0); result != kDone) {
    list.why_none = "the CUDA driver says: " + ErrorText(*driver, result);
  } else {
    list.cuda_version = CudaVersionText(*driver);
    int count = 0;
    if (driver->count(&count) != kDone) count = 0;
    for (int i = 0; i < count; ++i)
      if (auto gpu = DescribeGpu(*driver, i)) list.gpus.push_back(std::move(*gpu));
    if (list.gpus.empty()) list.why_none = "the CUDA driver shows no device";
    if (has_nvml) AddNvmlFacts(*nvml, list.gpus);
  }
  if (has_nvml) nvml->shutdown();
  return list;
}

}  // namespace pipesim::engine
