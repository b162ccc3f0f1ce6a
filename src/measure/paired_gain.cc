#include "measure/paired_gain.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/stats.h"

namespace pipesim::measure {

std::optional<PairedGain> GainOf(std::span<const RatePair> pairs, std::string_view method) {
  constexpr double kPairedLevel = 0.95;
  std::vector<double> logs;
  for (const RatePair& pair : pairs) {
    if (!(pair.base > 0) || !(pair.changed > 0)) return std::nullopt;
    logs.push_back(std::log(pair.changed / pair.base));
  }
  if (logs.empty()) return std::nullopt;
  const double mean = base::Mean(logs);
  PairedGain gain{.gain = std::expm1(mean), .interval = std::nullopt};
  if (const auto half = base::HalfWidth(logs, kPairedLevel)) {
    gain.interval = Interval{.low = std::expm1(mean - *half),
                             .high = std::expm1(mean + *half),
                             .level = kPairedLevel,
                             .method = fmt::format("{} ({})", method, logs.size())};
  }
  return gain;
}

double LogHalfWidth(const Interval& gain_interval) {
  return (std::log1p(gain_interval.high) - std::log1p(gain_interval.low)) / 2;
}

}  // namespace pipesim::measure
