#include "spec/experiment.h"

#include <algorithm>

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

std::array<WorkerKey, 3> WorkerKeys(const Loader& loader) {
  return {{{"prefetch_factor", true},
           {"timeout", loader.timeout > Duration::zero()},
           {"persistent_workers", loader.persistent_workers}}};
}

bool NeedsWorkers(const Experiment& experiment) {
  return std::ranges::any_of(WorkerKeys(experiment.loader), [&](const WorkerKey& key) {
    const auto setting = experiment.settings.find(key.path());
    return key.on && setting != experiment.settings.end() && setting->second.origin == Origin::kFlag;
  });
}

std::int64_t BatchSamples(const Experiment& experiment, std::int64_t index) {
  const std::int64_t batch = experiment.loader.batch_size;
  return std::min(batch, SamplesPerEpoch(experiment) - index * batch);
}

}  // namespace pipesim::spec
