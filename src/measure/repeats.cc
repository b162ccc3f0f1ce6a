#include "measure/repeats.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stats.h"

namespace pipesim::measure {

bool Finished(const Result& result) {
  return result.samples_per_s && result.stopped_by != trace::EndReason::kInterrupted &&
         result.stopped_by != trace::EndReason::kFailed &&
         result.stopped_by != trace::EndReason::kOutOfMemory;
}

Result MedianOf(std::vector<Result>& results) {
  std::stable_sort(results.begin(), results.end(), [](const Result& a, const Result& b) {
    return *a.samples_per_s < *b.samples_per_s;
  });
  std::vector<double> rates;
  for (const Result& result : results) rates.push_back(*result.samples_per_s);
  Result median = results[(results.size() - 1) / 2];
  const double half = base::HalfWidth(rates, 0.95).value_or(0);
  median.samples_per_s_interval =
      Interval{*median.samples_per_s - half, *median.samples_per_s + half, 0.95,
               fmt::format("repeats ({})", results.size())};
  return median;
}

}  // namespace pipesim::measure
