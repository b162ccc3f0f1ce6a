// The inputs of every part of the diagnosis: one run, its costs, and the predictors.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

/// Refers to the caller's objects, and lives no longer than they do.
struct Question {
  const spec::Experiment& experiment;
  const measure::Measurement& measurement;
  const Variant& now;  ///< the run as it was
  const Predictor& model;    ///< as it is, not anchored to the measured rate
  const Predictor& predict;
  const Predictor& quick;  ///< for the next limit after a change, and for the interval of a gain
  const Thresholds& thresholds;
  const Offers& offers;
};

/// after / before − 1. Infinite when only `after` is; 0 when neither limits or nothing runs.
inline double Gain(double before, double after) {
  if (std::isinf(before)) return 0;
  if (before <= 0) return after > 0 ? std::numeric_limits<double>::infinity() : 0;
  return after / before - 1;
}

/// Threads that can be runnable at once: for each accelerator its workers' threads, the pin thread
/// and the trainer's (only one, which dispatches, where the device is not a CPU).
inline int RunnableThreads(const Variant& variant) {
  const int trainer = std::max(1, variant.ComputeThreads());
  return variant.settings.accelerators *
         (variant.settings.loader.workers * variant.WorkerThreads() +
          (variant.HasPinThread() ? 1 : 0) + trainer);
}

/// Whether more threads than cores can be runnable, other programs' included; false where cores are
/// not limited.
inline bool Oversubscribed(const Variant& variant) {
  return variant.cores() > 0 &&
         RunnableThreads(variant) + variant.pipeline.machine.others.held > variant.cores();
}

}  // namespace pipesim::diagnose
