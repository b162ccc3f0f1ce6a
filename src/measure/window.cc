#include "measure/window.h"

#include <algorithm>
#include <numeric>

#include "base/stats.h"
#include "measure/cache_kinds.h"

namespace pipesim::measure {
namespace {

using trace::Checkpoint;

/// With fewer means of five, MSER-5 finds its smallest spread by chance and cuts half of a steady
/// run.
constexpr std::size_t kLeastForMser = 50;
/// An epoch is the period if cutting off part of an epoch costs at most a tenth of the run.
constexpr std::int64_t kEpochsForPeriod = 10;

std::vector<double> SecondsPerStep(const std::vector<Checkpoint>& marks) {
  std::vector<double> seconds;
  seconds.reserve(marks.size() - 1);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const auto steps = static_cast<double>(marks[i].steps - marks[i - 1].steps);
    seconds.push_back(base::ToSeconds(marks[i].at - marks[i - 1].at) / steps);
  }
  return seconds;
}

/// The mark that ends the warm-up of `warmup: auto`. The first interval always goes when there is
/// another: it holds the filling of the pipeline. Then MSER-5 says how much more, at most half of
/// the intervals and never past the last one of the first epoch: the starts of later epochs
/// belong to the measurement. A first epoch that is shorter than the warm-up is all of it.
std::size_t AutomaticStart(const std::vector<Checkpoint>& marks) {
  const std::vector<double> seconds = SecondsPerStep(marks);
  const std::size_t filling = std::min<std::size_t>(1, seconds.size() / 2);
  const std::size_t settled = seconds.size() >= kLeastForMser ? base::Mser5(seconds) : 0;
  std::size_t epoch_end = 1;
  while (epoch_end + 1 < marks.size() && marks[epoch_end + 1].epoch == marks[1].epoch) ++epoch_end;
  return std::min(std::max(filling, settled), std::max(filling, epoch_end));
}

std::size_t StatedStart(const std::vector<Checkpoint>& marks, base::Instant from) {
  const auto first = std::find_if(marks.begin(), marks.end(),
                                  [from](const Checkpoint& mark) { return mark.at >= from; });
  return static_cast<std::size_t>(first - marks.begin());
}

std::optional<Window> Between(const Checkpoint& from, const Checkpoint& to) {
  if (to.at <= from.at || to.steps <= from.steps) return std::nullopt;
  return Window{.from = from.at,
                .to = to.at,
                .first_step = from.steps,
                .last_step = to.steps,
                .samples = to.samples - from.samples,
                .epochs = {}};
}

/// The part of these epochs after the warm-up, which ends at marks[start].
std::optional<Window> OfEpochs(const trace::RunTrace& trace, const std::vector<Checkpoint>& marks,
                               std::size_t start, const EpochRange& epochs) {
  const auto record = [&](std::int64_t index) {
    return std::find_if(trace.epochs.begin(), trace.epochs.end(),
                        [&](const trace::EpochRecord& each) { return each.epoch == index; });
  };
  const base::Instant begin = std::max(marks[start].at, record(epochs.first)->begin);
  // In a very long run only the first epochs have records; later epochs are assumed to be like the
  // last recorded one.
  const bool all_recorded = trace.epochs.back().epoch == marks.back().epoch;
  const base::Instant end = all_recorded ? record(epochs.last)->end : marks.back().at;
  const auto from = std::find_if(marks.begin(), marks.end(),
                                 [&](const Checkpoint& mark) { return mark.at >= begin; });
  auto to = std::find_if(marks.begin(), marks.end(),
                         [&](const Checkpoint& mark) { return mark.at > end; });
  if (from == marks.end() || to == marks.begin()) return std::nullopt;
  std::optional<Window> window = Between(*from, *--to);
  if (window) window->epochs = epochs;
  return window;
}

}  // namespace

std::size_t WholePeriodsEnd(const std::vector<Checkpoint>& marks, std::size_t start,
                            std::int64_t period, std::int64_t stride) {
  for (std::size_t end = marks.size() - 1; end > start; --end) {
    const std::int64_t steps = marks[end].steps - marks[start].steps;
    if (steps >= period && steps % period < stride) return end;
  }
  return marks.size() - 1;
}

std::vector<Checkpoint> Marks(const trace::RunTrace& trace) {
  std::vector<Checkpoint> marks;
  marks.reserve(trace.progress.size() + 1);
  marks.push_back({.steps = 0, .samples = 0, .epoch = 0, .at = trace.begin});
  for (const Checkpoint& checkpoint : trace.progress) {
    if (checkpoint.steps > marks.back().steps) marks.push_back(checkpoint);
  }
  return marks;
}

std::int64_t PeriodSteps(const spec::Experiment& experiment, std::int64_t steps) {
  const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
  if (epoch > 0 && steps / epoch >= kEpochsForPeriod) return epoch;
  return std::max(1, experiment.loader.workers);
}

std::optional<Window> MeasuredWindow(const trace::RunTrace& trace,
                                     const spec::Experiment& experiment) {
  const std::vector<Checkpoint> marks = Marks(trace);
  if (marks.size() < 2) return std::nullopt;
  const std::size_t start = experiment.run.warmup
                                ? StatedStart(marks, trace.begin + *experiment.run.warmup)
                                : AutomaticStart(marks);
  if (start + 1 >= marks.size()) return std::nullopt;
  if (const auto epochs = EpochsToJudge(trace, experiment)) {
    if (auto window = OfEpochs(trace, marks, start, *epochs)) return window;
  }
  const std::int64_t steps = marks.back().steps - marks[start].steps;
  const std::size_t end = WholePeriodsEnd(marks, start, PeriodSteps(experiment, steps),
                                          std::max<std::int64_t>(1, trace.checkpoint_stride));
  return Between(marks[start], marks[end]);
}

double SteadySamplesPerSecond(const trace::RunTrace& trace, const spec::Experiment& experiment,
                              std::int64_t start, std::int64_t cycle) {
  const std::vector<Checkpoint> marks = Marks(trace);
  const auto from = std::find_if(marks.begin(), marks.end(),
                                 [start](const Checkpoint& mark) { return mark.steps >= start; });
  if (from == marks.end()) return 0;
  const std::size_t end =
      WholePeriodsEnd(marks, static_cast<std::size_t>(from - marks.begin()), cycle,
                      std::max<std::int64_t>(1, trace.checkpoint_stride));
  const std::optional<Window> window = Between(*from, marks[end]);
  return window ? SamplesPerSecondOfAll(trace, *window, experiment) : 0;
}

std::vector<Checkpoint> GroupBorders(const trace::RunTrace& trace, const Window& window,
                                     std::int64_t period, std::int64_t max_groups) {
  const std::int64_t steps = window.last_step - window.first_step;
  const std::int64_t on_marks =
      std::lcm(period, std::max<std::int64_t>(1, trace.checkpoint_stride));
  const std::int64_t unit = on_marks * max_groups <= steps ? on_marks : period;
  const std::int64_t group = unit * ((steps / unit + max_groups - 1) / max_groups);
  std::vector<Checkpoint> borders;
  if (group == 0) return borders;
  std::int64_t next = window.first_step;
  for (const Checkpoint& mark : Marks(trace)) {
    if (mark.steps > window.last_step) break;
    if (mark.steps < next) continue;
    borders.push_back(mark);
    next += group;
  }
  return borders;
}

}  // namespace pipesim::measure
