#include "diagnose/variant.h"

#include <algorithm>

namespace pipesim::diagnose {

int Variant::ComputeThreads() const {
  return std::min(pipeline.step.threads,
                  settings.limits.compute_threads.value_or(pipeline.step.threads));
}

Variant VariantOf(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  Variant variant{.pipeline = pipeline,
                  .settings = {.loader = experiment.loader,
                               .limits = experiment.limits,
                               .transfer = experiment.transfer,
                               .in_flight = experiment.device.in_flight,
                               .sync_every = experiment.training.sync_every,
                               .accelerators = experiment.run.accelerators,
                               .needs_workers = spec::NeedsWorkers(experiment),
                               .step_of_compute_threads =
                                   experiment.device.step && !experiment.device.step->threads}};
  if (pipeline.step.on_cpu()) {
    variant.settings.loader.pin_memory = false;
    variant.settings.loader.collate_into = spec::CollateInto::kPageable;
  }
  return variant;
}

Variant VariantOf(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                  const measure::Measurement& measurement) {
  Variant variant = VariantOf(experiment, pipeline);
  if (measurement.result.epochs.size() > 1) variant.settings.epoch_samples = spec::SamplesPerEpoch(experiment);
  return variant;
}

}  // namespace pipesim::diagnose
