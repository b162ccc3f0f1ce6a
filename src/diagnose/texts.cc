#include "diagnose/texts.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "base/number_text.h"

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

}  // namespace

std::string AmountText(double bytes) {
  const Scale scale = BytesScale(bytes);
  return fmt::format("{} {}", base::Significant(bytes / scale.factor, 3), scale.unit);
}

std::string RateText(double bytes_per_s) { return AmountText(bytes_per_s) + "/s"; }

std::string OfRateText(double used, double limit) {
  const Scale scale = BytesScale(limit);
  return fmt::format("{} of its {} {}/s", base::Significant(used / scale.factor, 3),
                     base::Significant(limit / scale.factor, 3), scale.unit);
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
    return busy ? fmt::format("{} {} is {} busy", which, word, base::Percent(*busy)) : "";
  }
  const auto& consumer = measurement.consumer;
  if (!(consumer.wall_s > 0)) return "";
  return fmt::format("the CPU trains {} of the time",
                     base::Percent(consumer.compute_s / consumer.wall_s));
}

}  // namespace pipesim::diagnose
