#include "app/repeats.h"

#include <algorithm>
#include <utility>

#include "measure/repeats.h"

namespace pipesim::app {

report::RunReport MedianOf(std::vector<report::RunReport> runs) {
  if (runs.size() == 1) return std::move(runs.front());
  std::stable_sort(
      runs.begin(), runs.end(), [](const report::RunReport& a, const report::RunReport& b) {
        return *a.measurement.result.samples_per_s < *b.measurement.result.samples_per_s;
      });
  std::vector<measure::Result> results;
  for (const report::RunReport& run : runs) results.push_back(run.measurement.result);
  report::RunReport& median = runs[(runs.size() - 1) / 2];
  median.measurement.result = measure::MedianOf(results);
  median.repeats = std::move(results);
  return std::move(median);
}

}  // namespace pipesim::app
