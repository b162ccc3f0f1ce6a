#include "cost/pipeline.h"

#include <cmath>

namespace pipesim::cost {
namespace {

Prepare StatedPrepare(const spec::Prepare& stated) {
  Prepare prepare;
  if (stated.kind == spec::PrepareKind::kBurn) prepare.kind = Prepare::Kind::kCpu;
  if (stated.kind == spec::PrepareKind::kWait) prepare.kind = Prepare::Kind::kWait;
  if (prepare.kind != Prepare::Kind::kNone) prepare.cost = stated.cost;
  prepare.wait = stated.wait;
  return prepare;
}

/// What is drawn is apart from what is not, which the engines need not draw.
Collate StatedCollate(const spec::Collate& stated) {
  Collate collate;
  if (stated.batch) {
    if (stated.batch->IsFixed())
      collate.batch = stated.batch->Mean();
    else
      collate.varying = *stated.batch;
  }
  collate.sample = stated.sample.value_or(base::Duration::zero());
  return collate;
}

Transfer StatedTransfer(const spec::Device& device) {
  Transfer transfer;
  if (device.preset && device.preset->h2d_bandwidth.per_s > 0)
    transfer.bandwidth = device.preset->h2d_bandwidth;
  return transfer;
}

double StatedCores(const spec::Limits& limits) {
  if (limits.cpu_count) return *limits.cpu_count;
  return static_cast<double>(limits.cpu_list.size());
}

}  // namespace

Pipeline Stated(const spec::Experiment& experiment) {
  Pipeline pipeline;
  pipeline.samples = {.stored = experiment.dataset.sample_bytes,
                      .prepared = spec::PreparedBytes(experiment.dataset)};
  pipeline.storage = StatedStorage(experiment.storage);
  pipeline.prepare = StatedPrepare(experiment.prepare);
  pipeline.collate = StatedCollate(experiment.collate);
  pipeline.hand_over = StatedHandOver(experiment.loader);
  if (pipeline.hand_over.processes && experiment.loader.python_sample)
    pipeline.prepare.python = *experiment.loader.python_sample;
  pipeline.transfer = StatedTransfer(experiment.device);
  pipeline.step = StatedStepOf(experiment);
  pipeline.machine.cores = StatedCores(experiment.limits);
  return pipeline;
}

int DrawnCosts(const Pipeline& pipeline) {
  const Storage& storage = pipeline.storage;
  int draws = 0;
  for (const bool fixed : {pipeline.prepare.cost.IsFixed(), pipeline.prepare.wait.IsFixed(), storage.latency.IsFixed(),
                           storage.open_cost.IsFixed(), pipeline.samples.stored.IsFixed()})
    draws += fixed ? 0 : 1;
  return draws;
}

std::int64_t ChunkSamples(const spec::Experiment& experiment, const Pipeline& pipeline) {
  if (experiment.storage.kind == spec::StorageKind::kFiles) return 1;
  constexpr double kLeastWork_s = 1e-3;  // a chunk is long against what waking a thread costs
  const double bytes = pipeline.samples.stored.in_units.Mean();
  const double sample_s = std::max(pipeline.storage.OwnSeconds(1, bytes) + pipeline.prepare.AloneSeconds(1, 1),
                                   pipeline.storage.AloneSeconds(1, bytes));
  // Whole quotients stay whole in spite of rounding.
  const double chunk = std::ceil(kLeastWork_s / sample_s * (1 - 1e-12));
  const std::int64_t batch = experiment.loader.batch_size;
  return chunk < static_cast<double>(batch) ? static_cast<std::int64_t>(chunk) : batch;
}

}  // namespace pipesim::cost
