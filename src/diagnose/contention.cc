#include "diagnose/contention.h"

#include <algorithm>

namespace pipesim::diagnose {
namespace {

/// Seconds of the measured window that CPU steps lost waiting for a core.
double LostInSteps(const measure::Measurement& measurement) {
  const double compute_s = measurement.consumer.compute_s;
  if (measurement.effective.device_asynchronous) return 0;
  const double waiting_s =
      compute_s * measurement.resources.trainer_contended_fraction.value_or(0);
  if (!StepIsKnownAlone(measurement)) return waiting_s;
  // Alone is without the run's own workers; other programs were there all the same.
  const double alone_s = measurement.demands.step_s.value_or(0);
  return std::max(waiting_s, compute_s - alone_s * static_cast<double>(measurement.result.steps));
}

}  // namespace

bool StepIsKnownAlone(const measure::Measurement& measurement) {
  return !measurement.effective.device_asynchronous && measurement.effective.device_step;
}

double TrainerContendedShare(const measure::Measurement& measurement) {
  const auto& consumer = measurement.consumer;
  if (!(consumer.wall_s > 0)) return 0;
  return std::clamp((consumer.contended_s + LostInSteps(measurement)) / consumer.wall_s, 0.0, 1.0);
}

double ContentionLeftOut(const measure::Measurement& measurement) {
  const auto& consumer = measurement.consumer;
  const double lost_s = consumer.contended_s + LostInSteps(measurement);
  const double running_s = consumer.wall_s - lost_s;
  return running_s > 0 ? lost_s / running_s : 0;
}

bool StepMayHoldContention(const Question& question) {
  const Variant& now = question.now;
  const auto& workers = question.measurement.workers;
  if (now.ComputeThreads() < 2 || !Oversubscribed(now)) return false;
  if (StepIsKnownAlone(question.measurement)) return false;
  return workers.wall_s > 0 &&
         workers.contended_s / workers.wall_s >= question.thresholds.gain_that_counts;
}

}  // namespace pipesim::diagnose
