#include "engine/emulated_device.h"

#include <algorithm>

namespace pipesim::engine {

using base::Duration;
using base::Instant;

namespace {

Duration MeanFullStep(const spec::Experiment& experiment, const cost::StepModel& cost) {
  const std::int64_t samples = experiment.loader.batch_size;
  const spec::Device& device = experiment.device;
  if (!device.step_base) return cost.Device(0, samples);
  return device.step_base->Mean() + device.step_per_sample.Mean() * samples;
}

}  // namespace

EmulatedDevice::EmulatedDevice(const spec::Experiment& experiment, int rank)
    : cost_(experiment, rank),
      full_step_(MeanFullStep(experiment, cost_)),
      overlap_(experiment.transfer.overlap),
      host_waits_(!experiment.transfer.non_blocking || !experiment.loader.pin_memory),
      pinned_(experiment.loader.pin_memory) {}

DeviceCopy EmulatedDevice::Copy(Instant at, base::Bytes bytes) {
  const Duration time = cost_.HostToDevice(bytes, pinned_);
  if (time == Duration::zero()) return {at, at, false};
  Instant begin = std::max(at, copy_free_);
  if (!overlap_) begin = std::max(begin, compute_free_);
  copy_free_ = begin + time;
  return {begin, copy_free_, host_waits_};
}

DeviceWork EmulatedDevice::Launch(std::int64_t step, std::int64_t samples, Instant data,
                                  Instant launch_begin, Instant launch_end) {
  const Duration time = cost_.Device(step, samples);
  const Instant ready = std::max({compute_free_, data, launch_begin});
  compute_free_ = std::max(ready + time, launch_end);
  return {compute_free_ - time, compute_free_};
}

}  // namespace pipesim::engine
