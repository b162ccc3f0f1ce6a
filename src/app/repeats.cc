#include "app/repeats.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stats.h"

namespace pipesim::app {

bool Finished(const measure::Result& result) {
  return result.samples_per_s && result.stopped_by != trace::EndReason::kInterrupted &&
         result.stopped_by != trace::EndReason::kFailed &&
         result.stopped_by != trace::EndReason::kOutOfMemory;
}

report::RunReport MedianOf(std::vector<report::RunReport> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  std::stable_sort(
      runs.begin(), runs.end(), [](const report::RunReport& a, const report::RunReport& b) {
        return *a.measurement.result.samples_per_s < *b.measurement.result.samples_per_s;
      });
  std::vector<double> rates;
  std::vector<measure::Result> results;
  for (const report::RunReport& run : runs) {
    rates.push_back(*run.measurement.result.samples_per_s);
    results.push_back(run.measurement.result);
  }
  report::RunReport& median = runs[(runs.size() - 1) / 2];
  const double half = base::HalfWidth(rates, 0.95).value_or(0);
  median.measurement.result.samples_per_s_interval =
      measure::Interval{*median.measurement.result.samples_per_s - half,
                        *median.measurement.result.samples_per_s + half, 0.95,
                        fmt::format("repeats ({})", runs.size())};
  median.repeats = results;
  return std::move(median);
}

}  // namespace pipesim::app
