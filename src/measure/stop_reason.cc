#include "measure/measurement.h"
#include "measure/rates.h"

namespace pipesim::measure {
namespace {

using trace::EndReason;

bool StepsDone(const trace::RunTrace& trace, const spec::Run& run) {
  return run.steps && trace.steps >= *run.steps;
}

bool EpochsDone(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  const std::int64_t batches = spec::BatchesPerEpoch(experiment);
  return experiment.run.epochs && batches > 0 && trace.steps >= *experiment.run.epochs * batches;
}

std::optional<EndReason> DurationDone(const trace::RunTrace& trace,
                                      const std::optional<Window>& window, base::Instant now,
                                      const spec::Run& run) {
  if (window) {
    return now - window->from >= *run.duration ? std::optional(EndReason::kDuration) : std::nullopt;
  }
  const Duration longest = run.warmup.value_or(Duration::zero()) + *run.duration + run.max_duration;
  return now - trace.begin >= longest ? std::optional(EndReason::kMaxDuration) : std::nullopt;
}

bool Precise(const trace::RunTrace& trace, const Window& window,
             const spec::Experiment& experiment) {
  const std::optional<Interval> interval = RateInterval(trace, window, experiment);
  if (!interval) return false;
  const double half = (interval->high - interval->low) / 2;
  return half <= experiment.run.max_noise * SamplesPerSecond(window);
}

std::optional<EndReason> AutomaticEnd(const trace::RunTrace& trace,
                                      const std::optional<Window>& window, base::Instant now,
                                      const spec::Experiment& experiment) {
  const spec::Run& run = experiment.run;
  if (window && now - window->from >= run.min_duration &&
      window->last_step - window->first_step >= run.min_steps &&
      Precise(trace, *window, experiment)) {
    return EndReason::kEnough;
  }
  if (now - trace.begin >= run.max_duration) return EndReason::kMaxDuration;
  return std::nullopt;
}

}  // namespace

std::optional<EndReason> StopReason(const trace::RunTrace& trace, base::Instant now,
                                    const spec::Experiment& experiment) {
  const spec::Run& run = experiment.run;
  if (StepsDone(trace, run)) return EndReason::kSteps;
  if (EpochsDone(trace, experiment)) return EndReason::kEpochs;
  const bool automatic = !run.duration && !run.steps && !run.epochs;
  if (!automatic && !run.duration) return std::nullopt;
  const std::optional<Window> window = MeasuredWindow(trace, experiment);
  return automatic ? AutomaticEnd(trace, window, now, experiment)
                   : DurationDone(trace, window, now, run);
}

}  // namespace pipesim::measure
