#include "measure/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/stats.h"

namespace pipesim::measure {

bool Finished(const Result& result) {
  return result.samples_per_s && result.stopped_by != trace::EndReason::kInterrupted &&
         result.stopped_by != trace::EndReason::kFailed &&
         result.stopped_by != trace::EndReason::kOutOfMemory;
}

Repeats SumUp(const std::vector<Result>& results) {
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *results[a].samples_per_s < *results[b].samples_per_s;
  });
  Repeats repeats;
  std::vector<double> rates;
  for (const std::size_t run : order) {
    repeats.slowest_first.push_back(results[run]);
    rates.push_back(*results[run].samples_per_s);
  }
  repeats.median = order[(order.size() - 1) / 2];
  repeats.result = results[repeats.median];
  const double rate = *repeats.result.samples_per_s;
  const double half = base::HalfWidth(rates, 0.95).value_or(0);
  repeats.result.samples_per_s_interval =
      Interval{rate - half, rate + half, 0.95, fmt::format("repeats ({})", results.size())};
  return repeats;
}

}  // namespace pipesim::measure
