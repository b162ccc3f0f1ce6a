#include "diagnose/levers.h"

#include <algorithm>

namespace pipesim::diagnose {

void AddSlowestThatHelp(Levers& levers, Levers candidates, const Question& q) {
  const double now = q.quick(q.now);
  std::vector<std::pair<double, Lever>> better;
  for (Lever& lever : candidates) {
    const double rate = q.quick(lever.setting.change(q.now));
    if (Gain(now, rate) >= q.thresholds.gain_that_counts) better.emplace_back(rate, std::move(lever));
  }
  std::stable_sort(better.begin(), better.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < better.size(); ++i) {
    const bool enough = better[i].first >= q.thresholds.enough_share * better.back().first;
    if (i == 0 || enough) levers.push_back(std::move(better[i].second));
    if (enough) break;
  }
}

}  // namespace pipesim::diagnose
