// What a machine has, as values: the processors that this process may use, and GPUs. Filled by app and
// engine/gpu_list.h, printed by report. Nothing here is measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/device_id.h"

namespace pipesim::spec {

struct PcieLink {
  int generation = 0, lanes = 0;
  bool operator==(const PcieLink&) const = default;
};
/// What the link carries in one direction after its line coding; nullopt for an unknown generation.
/// Source: PCI Express Base Specification 6.0: 2.5, 5, 8, 16, 32 GT/s a lane, coded 8b/10b up to
/// generation 2 and 128b/130b up to 5; 64 GT/s in flits of 256 bytes that carry 236.
std::optional<base::BytesPerSecond> BandwidthOf(const PcieLink& link);

struct Gpu {
  DeviceId id;             ///< the number that CUDA gives it in this process
  std::string name;        ///< "NVIDIA H200"
  std::string pci_bus_id;  ///< "0000:1a:00.0"
  base::Bytes memory;
  std::optional<base::Bytes> memory_free;
  std::optional<int> capability_major, capability_minor;  ///< compute capability
  std::optional<int> multiprocessors;
  std::optional<PcieLink> link, link_most;  ///< as it is now, and at most; idle links slow down
  std::optional<int> nvlinks;               ///< active NVLinks
  std::vector<DeviceId> nvlink_peers;       ///< GPUs of this process that it reaches through NVLink

  /// 9.0; nullopt: unknown.
  std::optional<double> ComputeCapability() const {
    if (!capability_major || !capability_minor) return std::nullopt;
    return *capability_major + *capability_minor / 10.0;
  }
};

struct CpuInventory {
  std::string name;
  int processors = 0;         ///< logical ones of the machine
  std::vector<int> allowed;   ///< by the affinity mask
  int physical_cores = 0;     ///< of the allowed ones
  std::optional<double> quota_cores;
  double cores = 0;           ///< usable at once: min(allowed, quota)
  std::string cgroup;         ///< empty: none, or it cannot be read
  std::optional<base::Bytes> memory_free;
  std::string memory_limit;   ///< which limit sets memory_free: "this machine"
};

/// Something that cannot be done or measured here.
struct Unavailable {
  std::string what, why;
};

struct Inventory {
  CpuInventory cpu;
  std::vector<Gpu> gpus;
  std::string driver_version;  ///< empty: no driver
  std::string cuda_version;    ///< the newest that the driver supports: "13.0"
  std::vector<Unavailable> unavailable;
};

/// The device if it is there, else the CPU: try_gpu of Dive into Deep Learning, section 5.6.
DeviceId IfThere(DeviceId device, const std::vector<Gpu>& gpus);
/// Every GPU, or the CPU where there is none.
std::vector<DeviceId> AllGpusOrCpu(const std::vector<Gpu>& gpus);

}  // namespace pipesim::spec
