#include "diagnose/texts.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

namespace pipesim::diagnose {
namespace {

struct Scale {
  double factor;
  std::string_view unit;
};

Scale BytesScale(double bytes) {
  constexpr std::array<Scale, 5> kScales = {
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  for (const auto& scale : kScales) {
    if (bytes >= scale.factor) return scale;
  }
  return kScales.back();
}

/// Three significant digits without an exponent; whole numbers from 100 on.
std::string Digits3(double value) {
  if (value <= 0) return "0";
  const double rounded =
      value >= 1000 ? value : std::stod(fmt::format("{:.3g}", value));  // 99.96 becomes 100
  const int decimals = rounded >= 100 ? 0 : rounded >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}", rounded, decimals);
}

std::string WithSeparators(std::string digits) {
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace

std::string ShareText(double share) {
  if (!(share > 0)) return "0 %";
  if (share < 0.005) return "<1 %";
  return fmt::format("{:.0f} %", share * 100);
}

std::string GainText(double gain) {
  if (std::abs(gain) < 0.0005) return "0 %";
  if (std::abs(gain) < 0.01) return fmt::format("{:+.1f} %", gain * 100);
  return fmt::format("{:+.0f} %", gain * 100);
}

std::string CountText(double count) {
  if (count < 1000) return Digits3(count);
  const double step = std::pow(10, std::floor(std::log10(count)) - 2);
  return WithSeparators(fmt::format("{:.0f}", std::round(count / step) * step));
}

std::string AmountText(double bytes) {
  const Scale scale = BytesScale(bytes);
  return fmt::format("{} {}", Digits3(bytes / scale.factor), scale.unit);
}

std::string RateText(double bytes_per_s) { return AmountText(bytes_per_s) + "/s"; }

std::string OfRateText(double used, double limit) {
  const Scale scale = BytesScale(limit);
  return fmt::format("{} of its {} {}/s", Digits3(used / scale.factor),
                     Digits3(limit / scale.factor), scale.unit);
}

std::string SecondsText(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", std::ceil(seconds));
  return fmt::format("{:.0f} min", std::ceil(seconds / 60));
}

std::string_view TrainerWord(const measure::Measurement& measurement) {
  if (measurement.effective.device.IsCuda()) return "GPU";
  return measurement.effective.device.IsEmulated() ? "emulated device" : "CPU";
}

std::string TrainerUse(const measure::Measurement& measurement) {
  const auto word = TrainerWord(measurement);
  if (word != "CPU") {
    const auto busy = measurement.result.accelerator_utilization;
    const auto which = measurement.result.accelerators > 1 ? "each" : "the";
    return busy ? fmt::format("{} {} is {} busy", which, word, ShareText(*busy)) : "";
  }
  const auto& consumer = measurement.consumer;
  if (!(consumer.wall_s > 0)) return "";
  return fmt::format("the CPU trains {} of the time",
                     ShareText(consumer.compute_s / consumer.wall_s));
}

}  // namespace pipesim::diagnose
