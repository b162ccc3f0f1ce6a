#include "spec/inventory.h"

#include <algorithm>
#include <array>

namespace pipesim::spec {

std::optional<base::BytesPerSecond> BandwidthOf(const PcieLink& link) {
  // Bytes a second that one lane carries, by generation.
  constexpr std::array<double, 6> kLane = {2.5e9 / 10,         5e9 / 10,
                                           8e9 / 8 * 128 / 130,  16e9 / 8 * 128 / 130,
                                           32e9 / 8 * 128 / 130, 64e9 / 8 * 236 / 256};
  if (link.generation < 1 || link.generation > static_cast<int>(kLane.size()) || link.lanes < 1)
    return std::nullopt;
  return base::BytesPerSecond{kLane[static_cast<std::size_t>(link.generation - 1)] * link.lanes};
}

DeviceId IfThere(DeviceId device, const std::vector<Gpu>& gpus) {
  const bool there = std::any_of(gpus.begin(), gpus.end(),
                                 [&](const Gpu& gpu) { return gpu.id == device; });
  return there ? device : DeviceId::Cpu();
}

std::vector<DeviceId> AllGpusOrCpu(const std::vector<Gpu>& gpus) {
  std::vector<DeviceId> devices;
  for (const Gpu& gpu : gpus) devices.push_back(gpu.id);
  if (devices.empty()) devices.push_back(DeviceId::Cpu());
  return devices;
}

}  // namespace pipesim::spec
