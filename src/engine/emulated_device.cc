#include "engine/emulated_device.h"

#include <algorithm>

#include "cost/buffers.h"

namespace pipesim::engine {

using base::Duration;
using base::Instant;

EmulatedDevice::EmulatedDevice(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                               int rank)
    : step_(pipeline.step, experiment.loader.batch_size, experiment.run.seed, rank),
      transfer_(pipeline.transfer),
      overlap_(experiment.transfer.overlap),
      host_waits_(!experiment.transfer.non_blocking || !cost::CopiesFromPinned(experiment.loader)),
      pinned_(cost::CopiesFromPinned(experiment.loader)) {}

void EmulatedDevice::Visit(StateVisitor& visitor, Instant launches_from) {
  // What is over by then delays nothing.
  if (!visitor.moves()) {
    visitor.Same(std::max(copy_free_, launches_from) - Instant(visitor.now().time));
    visitor.Same(std::max(compute_free_, launches_from) - Instant(visitor.now().time));
    return;
  }
  visitor.Time(copy_free_);
  visitor.Time(compute_free_);
}

DeviceCopy EmulatedDevice::Copy(Instant at, base::Bytes bytes) {
  const Duration time = transfer_.Time(bytes, pinned_);
  if (time == Duration::zero()) return {at, at, false};
  Instant begin = std::max(at, copy_free_);
  if (!overlap_) begin = std::max(begin, compute_free_);
  copy_free_ = begin + time;
  return {begin, copy_free_, host_waits_};
}

DeviceWork EmulatedDevice::Launch(std::int64_t step, std::int64_t samples, Instant data,
                                  Instant launch_begin, Instant launch_end) {
  const Duration time = step_.Time(step, samples);
  const Instant ready = std::max({compute_free_, data, launch_begin});
  compute_free_ = std::max(ready + time, launch_end);
  return {compute_free_ - time, compute_free_};
}

}  // namespace pipesim::engine
