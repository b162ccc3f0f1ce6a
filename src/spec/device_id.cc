#include "spec/device_id.h"

#include <cstdint>
#include <variant>

#include "spec/units_text.h"

namespace pipesim::spec {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";
constexpr std::int64_t kMostIndex = 1023;

}  // namespace

std::string ToText(DeviceId device) {
  switch (device.kind) {
    case DeviceKind::kAuto:
      return "auto";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kCuda:
      return std::string(kCudaPrefix) + std::to_string(device.index);
    case DeviceKind::kEmulated:
      return "emulated";
  }
  return {};
}

std::optional<DeviceId> ParseDevice(std::string_view text) {
  if (text == "auto") return DeviceId{};
  if (text == "cpu") return DeviceId::Cpu();
  if (text == "emulated") return DeviceId::Emulated();
  if (text == "cuda") return DeviceId::Cuda(0);
  if (!text.starts_with(kCudaPrefix)) return std::nullopt;
  const auto parsed = ParseCount(text.substr(kCudaPrefix.size()));
  const auto* index = std::get_if<std::int64_t>(&parsed);
  if (index == nullptr || *index > kMostIndex) return std::nullopt;
  return DeviceId::Cuda(static_cast<int>(*index));
}

}  // namespace pipesim::spec
