#include "base/stats.h"
#include "measure/cache_kinds.h"
#include "measure/demands.h"
#include "measure/for_verdict.h"
#include "measure/measurement.h"
#include "measure/partitions.h"
#include "measure/rates.h"
#include "measure/resources.h"
#include "measure/warnings.h"

namespace pipesim::measure {
namespace {

using trace::Series;

std::vector<EpochResult> EpochResults(const trace::RunTrace& trace,
                                      const spec::Experiment& experiment) {
  std::vector<EpochResult> epochs;
  for (const trace::EpochRecord& epoch : trace.epochs) {
    const double wall_s = base::ToSeconds(epoch.end - epoch.begin);
    if (epoch.steps == 0 || wall_s <= 0) continue;
    EpochResult result;
    result.index = epoch.epoch;
    result.samples_per_s = static_cast<double>(epoch.samples) / wall_s;
    result.time_to_first_batch_s = base::ToSeconds(epoch.first_batch);
    result.starved_fraction = base::ToSeconds(epoch.starved) / wall_s;
    result.cache_hit_fraction = CacheHitFraction(trace, epoch, experiment.storage);
    epochs.push_back(result);
  }
  return epochs;
}

/// A single step has no others, and then no AU.
std::optional<Meeting> MeetingOf(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  const std::int64_t whole = spec::BatchesPerEpoch(experiment);
  const auto all = static_cast<double>(experiment.run.accelerators);
  Meeting sum;
  for (const trace::MetEpoch& epoch : trace.met_epochs) {
    const double wall_s = base::ToSeconds(epoch.end - epoch.begin);
    const double first_s = base::ToSeconds(epoch.first_steps) / all;
    if (epoch.steps != whole || wall_s <= first_s) continue;
    ++sum.epochs;
    sum.au += base::ToSeconds(epoch.compute) / all / (wall_s - first_s);
    sum.samples_per_s += static_cast<double>(epoch.samples) / wall_s;
    sum.first_step_s += first_s;
  }
  if (sum.epochs == 0) return std::nullopt;
  for (double* const mean : {&sum.au, &sum.samples_per_s, &sum.first_step_s})
    *mean /= static_cast<double>(sum.epochs);
  return sum;
}

/// The reservoir keeps the keys' order; first and last of what it kept.
std::optional<Loss> LossOf(const trace::RunTrace& trace) {
  const trace::Reservoir& losses = trace.series[static_cast<std::size_t>(Series::kLoss)];
  if (losses.kept.empty()) return std::nullopt;
  const trace::Sampled &first = losses.kept.front(), &last = losses.kept.back();
  return Loss{losses.seen, first.key, last.key, first.value, last.value};
}

/// The results that a run has even when nothing was measured.
Measurement WithoutWindow(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  Measurement m;
  m.result.stopped_by = trace.end_reason;
  m.result.accelerators = experiment.run.accelerators;
  if (trace.first_batch) {
    m.result.time_to_first_batch_s = base::ToSeconds(*trace.first_batch - trace.begin);
  }
  m.result.meeting = MeetingOf(trace, experiment);
  m.result.epochs = EpochResults(trace, experiment);
  m.result.loss = LossOf(trace);
  m.workers.count = experiment.loader.workers;
  m.queue.capacity = trace.effective.queue_capacity;
  m.memory = MemoryOf(trace, experiment);
  m.resources.cores = trace.effective.cores;
  m.effective = trace.effective;
  m.failure = trace.failure;
  m.fits = trace.fits;
  m.bad_samples = trace.bad_samples;
  m.bad_sample_count = trace.bad_sample_count;
  m.probes_s = base::ToSeconds(trace.probes.time);
  return m;
}

void FillRates(Result& result, const trace::RunTrace& trace, const Window& window,
               const spec::Experiment& experiment) {
  result.warmup_s = base::ToSeconds(window.from - trace.begin);
  result.measured_s = base::ToSeconds(window.to - window.from);
  result.judged_epochs = window.epochs;
  result.steps = window.last_step - window.first_step;
  result.warmup_steps = window.first_step;
  result.samples = window.samples;
  const double all = AllOverFirst(trace, window);
  result.samples_per_s_each = SamplesPerSecond(window);
  result.samples_per_s = *result.samples_per_s_each * all;
  // The sum of equal trainers varies, in proportion, no more than one of them.
  result.samples_per_s_interval = RateInterval(trace, window, experiment);
  if (auto& interval = result.samples_per_s_interval) {
    interval->low *= all;
    interval->high *= all;
  }
  result.step_time = StepTimes(trace, window);
  result.steps_per_s = 1 / result.step_time->mean_s;
}

/// At 0 workers there is no queue, so its occupancy is unknown.
Queue QueueUse(const trace::RunTrace& trace, const Window& window,
               const spec::Experiment& experiment) {
  Queue queue;
  queue.capacity = trace.effective.queue_capacity;
  const std::vector<double> occupancy = NumbersIn(trace, Series::kOccupancy, window);
  if (occupancy.empty() || experiment.loader.workers == 0) return queue;
  const auto count = static_cast<double>(occupancy.size());
  const auto most = static_cast<double>(trace.effective.max_occupancy);
  double empty = 0, full = 0;
  for (const double batches : occupancy) {
    empty += batches == 0;
    full += batches >= most;
  }
  queue.occupancy_mean = base::Mean(occupancy);
  queue.empty_fraction = empty / count;
  if (most > 0) queue.full_fraction = full / count;
  return queue;
}

/// The CPU trains on a batch in place: nothing is copied.
TransferUse Transfers(const trace::RunTrace& trace, const Window& window,
                      const spec::Experiment& experiment, const Demands& demands) {
  TransferUse use;
  if (!trace.effective.device_asynchronous) return use;
  const std::int64_t sample_bytes = spec::PreparedBytes(experiment.dataset).count;
  use.bytes = window.samples * sample_bytes;
  const bool timed = !NumbersIn(trace, Series::kTransferTime, window).empty();
  if (timed && demands.h2d_s.value_or(0) > 0) {
    use.bytes_per_s = static_cast<double>(demands.batch_samples * sample_bytes) / *demands.h2d_s;
  }
  return use;
}

void FillForVerdict(Measurement& m, const trace::RunTrace& trace, const Window& window,
                    const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                    const std::optional<CounterMoves>& moves) {
  FillRates(m.result, trace, window, experiment);
  m.tried = TriedIn(trace.probes, m.result);
  m.consumer = ConsumerTime(trace, window, experiment);
  m.device = DeviceTime(trace, window, experiment);
  m.workers = WorkersTime(trace, window, experiment);
  m.pin = PinTime(trace, window);
  m.result.accelerator_utilization = AcceleratorUtilization(trace, m.consumer, m.device);
  m.demands = DemandsOf(trace, window, experiment, pipeline, m.consumer, moves);
  m.resources =
      ResourcesIn(trace, window, experiment, pipeline.storage, moves, LoadingCpuSeconds(m.demands));
}

}  // namespace

Measurement MeasureForVerdict(const trace::RunTrace& trace, const spec::Experiment& experiment,
                              const cost::Pipeline& pipeline) {
  Measurement m = WithoutWindow(trace, experiment);
  if (const std::optional<Window> window = MeasuredWindow(trace, experiment))
    FillForVerdict(m, trace, *window, experiment, pipeline, MovesIn(trace, *window));
  else
    m.warnings = WarningsOf(trace, experiment, {}, {}, m);
  return m;
}

Measurement Measure(const trace::RunTrace& trace, const spec::Experiment& experiment,
                    const cost::Pipeline& pipeline) {
  Measurement m = WithoutWindow(trace, experiment);
  m.over_time = OverTimeOf(trace, experiment.loader.batch_size);
  const std::optional<Window> window = MeasuredWindow(trace, experiment);
  std::optional<CounterMoves> moves;
  if (window) {
    moves = MovesIn(trace, *window);
    FillForVerdict(m, trace, *window, experiment, pipeline, moves);
    m.queue = QueueUse(trace, *window, experiment);
    m.transfer = Transfers(trace, *window, experiment, m.demands);
    m.step_time_samples_s = NumbersIn(trace, Series::kStepTime, *window, 1e-9);
    m.occupancy_samples = NumbersIn(trace, Series::kOccupancy, *window);
  }
  m.warnings = WarningsOf(trace, experiment, window, moves, m);
  return m;
}

}  // namespace pipesim::measure
