#include "measure/window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/stats.h"
#include "measure/cache_kinds.h"
#include "measure/resources.h"

namespace pipesim::measure {
namespace {

using trace::Checkpoint;

/// With fewer means of five, MSER-5 finds its smallest spread by chance and cuts half of a steady
/// run.
constexpr std::size_t kLeastForMser = 50;

/// visit(mark) for the run's begin and each step kept, until it returns false.
template <class Visit>
void ForEachMark(const trace::RunTrace& trace, const Visit& visit) {
  if (!visit(Checkpoint{.steps = 0, .samples = 0, .epoch = 0, .at = trace.begin})) return;
  std::int64_t last = 0;
  for (const Checkpoint& checkpoint : trace.progress) {
    if (checkpoint.steps <= last) continue;
    if (!visit(checkpoint)) return;
    last = checkpoint.steps;
  }
}

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
/// another: it holds the filling of the pipeline. So do the next ones, which end when a step is
/// only submitted, on a device that keeps several in flight. Then MSER-5 says how much more, at
/// most half of the intervals and never past the last one of the first epoch: the starts of later
/// epochs belong to the measurement. A first epoch that is shorter than the warm-up is all of it.
std::size_t AutomaticStart(const trace::RunTrace& trace, const std::vector<Checkpoint>& marks,
                           const spec::Experiment& experiment) {
  const std::vector<double> seconds = SecondsPerStep(marks);
  // While the run goes on, only the trace's states tell of a device with a clock of its own.
  const bool asynchronous =
      trace.effective.device_asynchronous || trace::Has(trace, trace::Role::kDevice);
  const int in_flight = asynchronous ? std::max(0, experiment.device.in_flight) : 0;
  const std::size_t filling = std::min<std::size_t>(1 + in_flight, seconds.size() / 2);
  const std::size_t settled = seconds.size() >= kLeastForMser ? base::Mser5(seconds) : 0;
  const auto next_epoch = std::partition_point(
      marks.begin() + 1, marks.end(), [&](const Checkpoint& mark) { return mark.epoch == marks[1].epoch; });
  const auto epoch_end = static_cast<std::size_t>(next_epoch - marks.begin()) - 1;
  return std::min(std::max(filling, settled), std::max(filling, epoch_end));
}

/// Of a thread's time: more than the moments in which the two sides of a full or an empty queue
/// pass each other, less than what shows in a rate.
constexpr double kWaits = 0.02;

/// The share of [from, to) that `threads` threads of a role spend in `state`.
double ShareIn(const trace::RunTrace& trace, trace::Role role, trace::State state, int threads,
               base::Instant from, base::Instant to) {
  const double wall_s = base::ToSeconds(to - from) * threads;
  return wall_s > 0 ? base::ToSeconds(trace::TimeIn(trace, role, state, from, to)) / wall_s : 0;
}

/// The share of [from, to) that training waits for a batch. A device with steps in flight works on
/// while its host waits.
double StarvedIn(const trace::RunTrace& trace, base::Instant from, base::Instant to) {
  if (trace::Has(trace, trace::Role::kDevice))
    return ShareIn(trace, trace::Role::kDevice, trace::State::kDeviceStarved, 1, from, to);
  return ShareIn(trace, trace::Role::kConsumer, trace::State::kStarved, 1, from, to);
}

/// Workers wait for room, or for the next epoch, and longer than training waits for them: training
/// limits. (Among many workers some wait for room until an uneven one has made its batch, though
/// training waits for that batch, too.) A stock that is used up was full at first, so that only
/// the second half of [from, to) counts.
bool WorkersWait(const trace::RunTrace& trace, const spec::Experiment& experiment,
                 base::Instant from, base::Instant to) {
  const base::Instant middle = from + (to - from) / 2;
  double share = 0;
  for (const trace::State state : {trace::State::kBlockedOnConsumer, trace::State::kIdle})
    share += ShareIn(trace, trace::Role::kWorker, state, experiment.loader.workers, middle, to);
  return share >= kWaits && share >= StarvedIn(trace, middle, to);
}

/// Training mostly waited until the first of `marks` after the begin, and since then not every
/// worker has delivered: what was delivered is the stock that the wait built up, unless the stock
/// has grown since and workers wait for room.
bool OnlyStartSeen(const trace::RunTrace& trace, const std::vector<Checkpoint>& marks,
                   const spec::Experiment& experiment) {
  if (experiment.loader.workers == 0) return false;
  const Checkpoint& first = marks[1];
  if (marks.back().steps - first.steps >= experiment.loader.workers) return false;
  const Duration starved =
      trace::TimeIn(trace, trace::Role::kConsumer, trace::State::kStarved, trace.begin, first.at);
  if (2 * starved <= first.at - trace.begin) return false;
  const Checkpoint& last = marks.back();
  const bool grown = last.loaded - last.samples >= first.loaded - first.samples;
  return !grown || !WorkersWait(trace, experiment, first.at, last.at);
}

std::vector<Checkpoint>::const_iterator FirstMarkAt(const std::vector<Checkpoint>& marks,
                                                    base::Instant from) {
  return std::find_if(marks.begin(), marks.end(),
                      [from](const Checkpoint& mark) { return mark.at >= from; });
}

std::size_t Start(const trace::RunTrace& trace, const std::vector<Checkpoint>& marks,
                  const spec::Experiment& experiment, bool only_start) {
  if (experiment.run.warmup) {
    const auto first = FirstMarkAt(marks, trace.begin + *experiment.run.warmup);
    return static_cast<std::size_t>(first - marks.begin());
  }
  return only_start ? 0 : AutomaticStart(trace, marks, experiment);
}

std::optional<Window> Between(const Checkpoint& from, const Checkpoint& to) {
  if (to.at <= from.at || to.steps <= from.steps) return std::nullopt;
  const std::int64_t samples = to.samples - from.samples;
  return Window{.from = from.at,
                .to = to.at,
                .first_step = from.steps,
                .last_step = to.steps,
                .samples = samples,
                .loaded = to.loaded - from.loaded,
                .epochs = {},
                .counted = samples};
}

/// These epochs, whole: one that the warm-up cuts is left out, or, being the only one, taken from
/// its own begin, since loading starts anew in each epoch. A stated warm-up is left out as stated.
std::optional<Window> OfEpochs(const trace::RunTrace& trace, const std::vector<Checkpoint>& marks,
                               std::size_t start, EpochRange epochs, bool stated_warmup) {
  const auto record = [&](std::int64_t index) {
    return std::find_if(trace.epochs.begin(), trace.epochs.end(),
                        [&](const trace::EpochRecord& each) { return each.epoch == index; });
  };
  const base::Instant warm = marks[start].at;
  if (!stated_warmup && warm > record(epochs.first)->begin && epochs.first < epochs.last)
    ++epochs.first;
  base::Instant begin = record(epochs.first)->begin;
  if (stated_warmup) begin = std::max(begin, warm);
  // In a very long run only the first epochs have records; later epochs are assumed to be like the
  // last recorded one.
  const bool all_recorded = trace.epochs.back().epoch == marks.back().epoch;
  const base::Instant end = all_recorded ? record(epochs.last)->end : marks.back().at;
  const auto from = FirstMarkAt(marks, begin);
  auto to = std::find_if(marks.begin(), marks.end(),
                         [&](const Checkpoint& mark) { return mark.at > end; });
  if (from == marks.end() || to == marks.begin()) return std::nullopt;
  std::optional<Window> window = Between(*from, *--to);
  if (window) window->epochs = epochs;
  return window;
}

const trace::Reservoir& DeviceSteps(const trace::RunTrace& trace) {
  return trace.series[static_cast<std::size_t>(trace::Series::kDeviceStep)];
}

/// Samples that the device trained on within the window, steps at its edges in part: a window that
/// begins while the device is filled ends with more steps submitted than trained. What was
/// delivered where the device has no clock or not every step was kept.
double SamplesTrained(const trace::RunTrace& trace, const Window& window) {
  const trace::Reservoir& steps = DeviceSteps(trace);
  if (steps.kept.empty() || steps.seen > static_cast<std::int64_t>(steps.kept.size()))
    return static_cast<double>(window.samples);
  double trained = 0;
  for (const trace::Sampled& step : steps.kept) {
    const Duration took(std::max<std::int64_t>(1, std::llround(step.value)));
    const Duration inside = std::min(step.at, window.to) - std::max(step.at - took, window.from);
    trained += std::max(0.0, base::ToSeconds(inside) / base::ToSeconds(took));
  }
  return trained * static_cast<double>(window.samples) /
         static_cast<double>(window.last_step - window.first_step);
}

/// A run of a step or two may end, all of them in flight, before the device has trained on one as a whole.
bool NoStepTrained(const trace::RunTrace& trace, const spec::Experiment& experiment, const Window& window) {
  const std::int64_t steps = window.last_step - window.first_step;
  return steps <= experiment.device.in_flight &&
         SamplesTrained(trace, window) * static_cast<double>(steps) < static_cast<double>(window.samples);
}

/// What would be trained on within such a window at the pace until the last step is.
double AtPaceOfAll(const trace::RunTrace& trace, const Window& window) {
  const base::Instant done = std::max(window.to, DeviceSteps(trace).kept.back().at);
  return static_cast<double>(window.samples) * base::ToSeconds(window.to - window.from) /
         base::ToSeconds(done - window.from);
}

/// What would be trained on within such a window if the device never waited.
double AtPaceOfDevice(const trace::RunTrace& trace, const Window& window) {
  const std::vector<trace::Sampled>& steps = DeviceSteps(trace).kept;
  const double took_ns = std::accumulate(steps.begin(), steps.end(), 0.0,
                                         [](double sum, const trace::Sampled& step) { return sum + step.value; });
  const double each_ns = std::max(1.0, took_ns / static_cast<double>(steps.size()));
  return static_cast<double>(window.samples) / static_cast<double>(window.last_step - window.first_step) *
         static_cast<double>((window.to - window.from).count()) / each_ns;
}

/// The device has no free moment: what it trained on is the rate, not what it still has in flight.
bool DeviceIsFull(const trace::RunTrace& trace, const Window& window) {
  return ShareIn(trace, trace::Role::kDevice, trace::State::kBusy, 1, window.from, window.to) >=
         1 - kWaits;
}

/// The emulated storage has no free moment while training uses up stock. Then storage limits, even
/// if some workers wait for room: those that do not keep it full.
bool StorageLimits(const trace::RunTrace& trace, const spec::Experiment& experiment,
                   const Window& window) {
  if (window.loaded >= window.samples || experiment.storage.kind != spec::StorageKind::kEmulated)
    return false;
  const std::optional<CounterMoves> moves = MovesIn(trace, window);
  if (!moves) return false;
  const auto share = StorageUtilization(cost::StatedStorage(experiment.storage), *moves);
  return share && *share >= 1 - kWaits;
}

/// Decides what the rate counts. Over a long time as much is delivered as loaded; over a window,
/// the difference is the change of what is in stock and in work. Where workers wait, training
/// limits, and deliveries are its rate. Where they do not, loading limits if training waits, or if
/// it used up stock instead. `only_start`: see OnlyStartSeen; what is delivered then is no rate.
void ChooseCount(const trace::RunTrace& trace, const spec::Experiment& experiment, bool only_start,
                 Window& window) {
  // Of the samples: below it, deliveries are exact enough, and exact over whole cycles.
  constexpr double kDiffers = 0.01;
  const bool not_counted = window.loaded <= 0;
  if (experiment.loader.workers == 0 || window.epochs || not_counted) return;
  if (!only_start && WorkersWait(trace, experiment, window.from, window.to) &&
      !StorageLimits(trace, experiment, window)) {
    if (window.first_step <= experiment.device.in_flight || DeviceIsFull(trace, window)) {
      const bool none = NoStepTrained(trace, experiment, window) && !DeviceIsFull(trace, window);
      window.counted = std::llround(none ? AtPaceOfAll(trace, window) : SamplesTrained(trace, window));
    }
    return;
  }
  const auto delivered = static_cast<double>(window.samples);
  const double more = static_cast<double>(window.loaded) - delivered;
  const double starved = StarvedIn(trace, window.from, window.to);
  if (starved < kWaits && more > -kDiffers * delivered) return;
  window.by_loading = true;
  const bool none = NoStepTrained(trace, experiment, window);
  if (std::abs(more) <= kDiffers * delivered && !none) return;
  // A stock that still grows ends as high as training can go without waiting.
  const double most = none ? AtPaceOfDevice(trace, window)
                           : SamplesTrained(trace, window) / std::max(1 - starved, 1e-6);
  window.counted = std::min(window.loaded, static_cast<std::int64_t>(most));
}

/// The last of `marks` that is a whole number of periods after marks[start]; the last mark if no
/// period fits. Where only every `stride`-th step was kept, the first mark after a whole number of
/// periods; the extra steps are then less than one in 2,048.
std::size_t WholePeriodsEnd(const std::vector<Checkpoint>& marks, std::size_t start,
                            std::int64_t period, std::int64_t stride) {
  for (std::size_t end = marks.size() - 1; end > start; --end) {
    const std::int64_t steps = marks[end].steps - marks[start].steps;
    if (steps >= period && steps % period < stride) return end;
  }
  return marks.size() - 1;
}

}  // namespace

std::vector<Checkpoint> Marks(const trace::RunTrace& trace) {
  std::vector<Checkpoint> marks;
  marks.reserve(trace.progress.size() + 1);
  ForEachMark(trace, [&](const Checkpoint& mark) {
    marks.push_back(mark);
    return true;
  });
  return marks;
}

std::vector<Checkpoint>::const_iterator FirstMarkFrom(const std::vector<Checkpoint>& marks,
                                                      std::int64_t steps) {
  return std::find_if(marks.begin(), marks.end(),
                      [steps](const Checkpoint& mark) { return mark.steps >= steps; });
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
  const bool only_start = !experiment.run.warmup && OnlyStartSeen(trace, marks, experiment);
  const std::size_t start = Start(trace, marks, experiment, only_start);
  if (start + 1 >= marks.size()) return std::nullopt;
  if (const auto epochs = EpochsToJudge(trace, experiment)) {
    if (auto window = OfEpochs(trace, marks, start, *epochs, experiment.run.warmup.has_value()))
      return window;
  }
  const std::int64_t steps = marks.back().steps - marks[start].steps;
  const std::size_t end = WholePeriodsEnd(marks, start, PeriodSteps(experiment, steps),
                                          std::max<std::int64_t>(1, trace.checkpoint_stride));
  std::optional<Window> window = Between(marks[start], marks[end]);
  if (window) ChooseCount(trace, experiment, only_start, *window);
  return window;
}

std::optional<Window> SteadyWindow(const trace::RunTrace& trace, const spec::Experiment& experiment,
                                   std::int64_t start, std::int64_t cycle) {
  const std::vector<Checkpoint> marks = Marks(trace);
  const auto after = FirstMarkFrom(marks, start);
  if (marks.size() < 2 || after == marks.end()) return std::nullopt;
  const std::size_t from = std::max(static_cast<std::size_t>(after - marks.begin()),
                                    AutomaticStart(trace, marks, experiment));
  const std::size_t end =
      WholePeriodsEnd(marks, from, cycle, std::max<std::int64_t>(1, trace.checkpoint_stride));
  std::optional<Window> window = Between(marks[from], marks[end]);
  if (window) ChooseCount(trace, experiment, false, *window);
  return window;
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
  ForEachMark(trace, [&](const Checkpoint& mark) {
    if (mark.steps > window.last_step) return false;
    if (mark.steps < next) return true;
    borders.push_back(mark);
    next += group;
    return true;
  });
  return borders;
}

}  // namespace pipesim::measure
