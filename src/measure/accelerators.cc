#include "measure/accelerators.h"

#include <algorithm>

#include "measure/rates.h"
#include "measure/window.h"

namespace pipesim::measure {
namespace {

/// Samples/s of one accelerator; nullopt without a whole step in the window.
std::optional<double> RateIn(const Window& window, const trace::Progress& progress,
                             const spec::Experiment& experiment) {
  std::vector<trace::Checkpoint> marks;
  for (const trace::Checkpoint& mark : progress.kept) {
    if (mark.at >= window.from && mark.at <= window.to) marks.push_back(mark);
  }
  if (marks.size() < 2) return std::nullopt;
  const std::int64_t period = PeriodSteps(experiment, marks.back().steps - marks.front().steps);
  const trace::Checkpoint& first = marks.front();
  const trace::Checkpoint& last = marks[WholePeriodsEnd(marks, 0, period, progress.stride)];
  if (last.at <= first.at) return std::nullopt;
  return static_cast<double>(last.samples - first.samples) / base::ToSeconds(last.at - first.at);
}

}  // namespace

double AllOverFirst(const trace::RunTrace& trace, const Window& window,
                    const spec::Experiment& experiment) {
  const double first = DeliveredPerSecond(window);
  double sum = 1;
  for (const trace::Progress& other : trace.others) {
    const auto rate = RateIn(window, other, experiment);
    sum += rate && first > 0 ? *rate / first : 1;
  }
  return sum;
}

double SamplesPerSecondOfAll(const trace::RunTrace& trace, const Window& window,
                             const spec::Experiment& experiment) {
  return SamplesPerSecond(window) * AllOverFirst(trace, window, experiment);
}

}  // namespace pipesim::measure
