#include "diagnose/contention.h"

#include <algorithm>

namespace pipesim::diagnose {
namespace {

/// Seconds of the measured window that steps lost waiting for a core: on the CPU, or in the host's
/// calls that launch them on a GPU.
double LostInSteps(const measure::Measurement& measurement) {
  const double waiting = measurement.resources.trainer_contended_fraction.value_or(0);
  const measure::Consumer& consumer = measurement.consumer;
  if (measurement.effective.device_asynchronous) {
    // Beside an emulated device the host's waits are known one by one.
    if (measurement.effective.device.IsEmulated()) return 0;
    return (consumer.host_s - consumer.receive_s.value_or(0)) * waiting;
  }
  const double compute_s = consumer.compute_s;
  const double waiting_s = compute_s * waiting;
  if (!StepIsKnownAlone(measurement)) return waiting_s;
  // Alone is without the run's own workers; other programs were there all the same.
  const double alone_s = measurement.demands.step_s.value_or(0);
  return std::max(waiting_s, compute_s - alone_s * static_cast<double>(measurement.result.steps));
}

}  // namespace

bool StepIsKnownAlone(const measure::Measurement& measurement) {
  return !measurement.effective.device_asynchronous && measurement.effective.device_step;
}

bool PoolLacksCores(const measure::Measurement& measurement) {
  return measurement.effective.step_on_one_thread && measurement.effective.step_cpu;
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
