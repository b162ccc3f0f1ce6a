#include "report/devices_report.h"
#include "report/json_parts.h"

namespace pipesim::report {
namespace {

Document BytesOrNull(const std::optional<base::Bytes>& bytes) {
  return bytes ? Document(bytes->count) : nullptr;
}

Document NumberOrNull(std::optional<int> number) { return number ? Document(*number) : nullptr; }

Document LinkValue(const std::optional<spec::PcieLink>& link) {
  if (!link) return nullptr;
  const auto bandwidth = spec::BandwidthOf(*link);
  return {{"generation", link->generation},
          {"lanes", link->lanes},
          {"bytes_per_s", bandwidth ? NumberValue(bandwidth->per_s) : nullptr}};
}

Document DeviceNames(const std::vector<spec::DeviceId>& devices) {
  Document names = Document::array();
  for (const spec::DeviceId device : devices) names.push_back(spec::ToText(device));
  return names;
}

Document CpuValue(const spec::CpuInventory& cpu) {
  return {{"name", TextOrNull(cpu.name)},
          {"processors", cpu.processors},
          {"allowed", cpu.allowed},
          {"physical_cores", cpu.physical_cores},
          {"quota_cores", NumberValue(cpu.quota_cores)},
          {"cores", NumberValue(cpu.cores)},
          {"cgroup", TextOrNull(cpu.cgroup)},
          {"memory_free_bytes", BytesOrNull(cpu.memory_free)},
          {"memory_limit", TextOrNull(cpu.memory_limit)}};
}

Document GpuValue(const spec::Gpu& gpu) {
  std::string capability;
  if (gpu.capability_major && gpu.capability_minor)
    capability = std::to_string(*gpu.capability_major) + "." + std::to_string(*gpu.capability_minor);
  return {{"device", spec::ToText(gpu.id)},
          {"name", TextOrNull(gpu.name)},
          {"pci_bus_id", TextOrNull(gpu.pci_bus_id)},
          {"memory_bytes", gpu.memory.count},
          {"memory_free_bytes", BytesOrNull(gpu.memory_free)},
          {"compute_capability", TextOrNull(capability)},
          {"multiprocessors", NumberOrNull(gpu.multiprocessors)},
          {"pcie", LinkValue(gpu.link)},
          {"pcie_at_most", LinkValue(gpu.link_most)},
          {"nvlinks", NumberOrNull(gpu.nvlinks)},
          {"nvlink_peers", DeviceNames(gpu.nvlink_peers)}};
}

}  // namespace

Document ToJson(const DevicesReport& report) {
  const spec::Inventory& inventory = report.inventory;
  Document document = HeadOf(report.context, "devices");
  document["driver"] = {{"version", TextOrNull(inventory.driver_version)},
                        {"cuda_version", TextOrNull(inventory.cuda_version)}};
  Document gpus = Document::array(), unavailable = Document::array();
  for (const spec::Gpu& gpu : inventory.gpus) gpus.push_back(GpuValue(gpu));
  for (const spec::Unavailable& each : inventory.unavailable)
    unavailable.push_back({{"what", TextValue(each.what)}, {"why", TextValue(each.why)}});
  document["gpus"] = std::move(gpus);
  document["cpu"] = CpuValue(inventory.cpu);
  const std::vector<spec::DeviceId> all = spec::AllGpusOrCpu(inventory.gpus);
  document["all"] = DeviceNames(all);
  document["auto"] = spec::ToText(all.front());
  document["asked"] = nullptr;
  if (report.asked)
    document["asked"] = {{"device", spec::ToText(*report.asked)},
                         {"use", spec::ToText(spec::IfThere(*report.asked, inventory.gpus))}};
  document["unavailable"] = std::move(unavailable);
  return document;
}

}  // namespace pipesim::report
