// Builds small experiments for the virtual engine in one line, and runs them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "engine/virtual_time/virtual_executor.h"
#include "measure/measurement.h"
#include "support/drawn.h"

namespace pipesim::engine {

using namespace std::chrono_literals;
using base::Bytes;
using base::Duration;
using base::Instant;
using tests::Fixed;
using trace::EndReason;
using trace::Role;
using trace::State;

inline base::Drawn<Duration> Exponential(Duration mean) {
  return {{.kind = base::DistributionKind::kExponential,
           .mean = static_cast<double>(mean.count()),
           .values = {}}};
}

/// `workers` that wait `batch` for each batch of one sample, an emulated device that takes `step`.
inline spec::Experiment Stages(int workers, Duration batch, Duration step, std::int64_t steps) {
  spec::Experiment experiment;
  experiment.dataset = {.samples = 1 << 20,
                        .sample_bytes = {base::Distribution::Fixed(64)},
                        .shape = {8},
                        .dtype = spec::DType::kUint8,
                        .classes = 10};
  experiment.loader.batch_size = 1;
  experiment.loader.workers = workers;
  experiment.prepare = {.kind = spec::PrepareKind::kWait, .cost = Fixed(batch)};
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.device.step_base = Fixed(step);
  experiment.run.steps = steps;
  return experiment;
}

inline trace::RunTrace Predict(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                               const RunControl& control = {}) {
  return MakeVirtualExecutor()->Run(experiment, pipeline, control);
}
/// As the experiment states its costs; all else is free.
inline trace::RunTrace Predict(const spec::Experiment& experiment) {
  return Predict(experiment, cost::Stated(experiment));
}

/// A step on `threads` threads of the CPU, whatever the batch.
inline cost::Step CpuStep(Duration wall, int threads = 1) {
  cost::Step step;
  step.cost = cost::StatedStep{.base = Fixed(wall), .per_sample = {}};
  step.threads = threads;
  return step;
}

/// Keeps the spans of single batches.
inline RunControl WithSpans() {
  RunControl control;
  control.keep_spans = true;
  return control;
}

/// Of all threads of `role`, over the whole run.
inline Duration TotalIn(const trace::RunTrace& trace, Role role, State state) {
  return trace::TimeIn(trace, role, state, trace.begin, trace.end);
}

}  // namespace pipesim::engine
