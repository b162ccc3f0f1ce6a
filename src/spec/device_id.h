// Which device trains: its kind and, of several GPUs, its number. Says nothing of its speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pipesim::spec {

enum class DeviceKind { kAuto, kCpu, kCuda, kEmulated };

struct DeviceId {
  DeviceKind kind = DeviceKind::kAuto;  ///< kAuto: not chosen yet
  int index = 0;                        ///< of kCuda; else 0

  static constexpr DeviceId Cpu() { return {DeviceKind::kCpu, 0}; }
  static constexpr DeviceId Cuda(int index) { return {DeviceKind::kCuda, index}; }
  static constexpr DeviceId Emulated() { return {DeviceKind::kEmulated, 0}; }

  bool IsChosen() const { return kind != DeviceKind::kAuto; }
  bool IsCpu() const { return kind == DeviceKind::kCpu; }
  bool IsCuda() const { return kind == DeviceKind::kCuda; }
  bool IsEmulated() const { return kind == DeviceKind::kEmulated; }
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// "auto", "cpu", "cuda:0", "emulated".
std::string ToText(DeviceId device);
/// The reverse; "cuda" is "cuda:0". nullopt for anything else.
std::optional<DeviceId> ParseDevice(std::string_view text);

}  // namespace pipesim::spec
