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
  return found;
}

std::function<std::optional<double>()> NvmlUtilization(const NvmlFunctions& nvml,
                                                       const std::string& pci_bus_id) {
  if (nvml.init() != kSuccess) return {};
  const std::shared_ptr<void> session(nullptr, [nvml](void*) { nvml.shutdown(); });
  void* device = nullptr;
  if (nvml.device_by_pci(pci_bus_id.c_str(), &device) != kSuccess) return {};
  return [nvml, session, device]() -> std::optional<double> {
    NvmlFunctions::Utilization rates;
    if (nvml.utilization(device, &rates) != kSuccess) return std::nullopt;
    return rates.gpu / 100.0;
  };
}

}  // namespace pipesim::engine
