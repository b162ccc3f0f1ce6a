#include "spec/experiment.h"

#include <algorithm>
#include <cmath>

namespace pipesim::spec {

std::string_view ToText(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kModel:
      return "model";
    case Origin::kPreset:
      return "preset";
    case Origin::kData:
      return "data";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kFile:
      return "file";
    case Origin::kFlag:
      break;
  }
  return "flag";
}

Bytes PreparedBytes(const Dataset& dataset) {
  return {Elements(dataset.shape) * SizeOf(dataset.dtype)};
}

std::int64_t SamplesPerEpoch(const Experiment& experiment) {
  const std::int64_t accelerators = experiment.run.accelerators;
  return (experiment.dataset.samples + accelerators - 1) / accelerators;
}

std::int64_t BatchesPerEpoch(const Experiment& experiment) {
  const std::int64_t samples = SamplesPerEpoch(experiment);
  const std::int64_t batch = experiment.loader.batch_size;
  const std::int64_t whole = samples / batch;
  return !experiment.loader.drop_last && samples % batch != 0 ? whole + 1 : whole;
}

std::int64_t BatchSamples(const Experiment& experiment, std::int64_t index) {
  const std::int64_t batch = experiment.loader.batch_size;
  return std::min(batch, SamplesPerEpoch(experiment) - index * batch);
}

std::int64_t ChunkSamples(const Experiment& experiment) {
  const Storage& storage = experiment.storage;
  if (storage.kind == StorageKind::kFiles) return 1;
  constexpr double kLeastWorkNs = 1e6;  // much longer than waking a thread
  double read_ns = 0;
  if (storage.kind == StorageKind::kEmulated) {
    double transfer_ns = 0;
    const double bytes = experiment.dataset.sample_bytes.in_units.Mean();
    if (storage.bandwidth) transfer_ns = bytes / storage.bandwidth->per_s * 1e9;
    read_ns = storage.latency.in_units.Mean() + storage.open_cost.in_units.Mean() + transfer_ns;
    if (storage.iops_per_s) read_ns = std::max(read_ns, 1e9 / *storage.iops_per_s);
  }
  const double prepare_ns =
      experiment.prepare.kind == PrepareKind::kNone ? 0 : experiment.prepare.cost.in_units.Mean();
  const double sample_ns = read_ns + prepare_ns;
  const std::int64_t batch = experiment.loader.batch_size;
  if (sample_ns * static_cast<double>(batch) <= kLeastWorkNs) return batch;
  return static_cast<std::int64_t>(std::ceil(kLeastWorkNs / sample_ns));
}

}  // namespace pipesim::spec
