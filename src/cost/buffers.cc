#include "cost/buffers.h"

#include <algorithm>

namespace pipesim::cost {

bool PinsBatches(const spec::Loader& loader, bool trains_on_cpu) {
  return loader.pin_memory && loader.collate_into == spec::CollateInto::kPageable && !trains_on_cpu;
}

bool CopiesFromPinned(const spec::Loader& loader) {
  return loader.pin_memory || loader.collate_into == spec::CollateInto::kPinned;
}

bool PinsBatches(const spec::Experiment& experiment) {
  return PinsBatches(experiment.loader, experiment.device.Id().IsCpu());
}

std::size_t MostInFlight(const spec::Device& device) {
  return static_cast<std::size_t>(std::max(device.in_flight, 1));
}

SlotCounts CountSlots(const spec::Experiment& experiment, bool pin_stage) {
  const std::int64_t window = experiment.loader.Window();
  const auto taken = static_cast<std::int64_t>(MostInFlight(experiment.device)) + 1;
  const std::int64_t made = std::max<std::int64_t>(window, 1);
  if (!pin_stage) return {.workers = made + taken, .pinned = 0};
  return {.workers = made, .pinned = window + taken};
}

std::int64_t GeneratedSamples(const spec::Experiment& experiment) {
  constexpr std::int64_t kBytes = 16 << 20;
  const std::int64_t each =
      std::max<std::int64_t>(spec::PreparedBytes(experiment.dataset).count, 1);
  return std::clamp<std::int64_t>(kBytes / each, 1,
                                  std::max<std::int64_t>(experiment.dataset.samples, 1));
}

base::Bytes GeneratedBytes(const spec::Experiment& experiment) {
  return spec::PreparedBytes(experiment.dataset) * GeneratedSamples(experiment);
}

}  // namespace pipesim::cost
