// What a training step and a host-to-device copy cost on a device that is described, not there:
// a stated cost, or a roofline over the model's layers. Never sleeps.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// A roofline's answer for one step.
struct StepEstimate {
  base::Duration device{};  ///< time the device computes
  base::Duration host{};    ///< time the host needs to launch it
  int launches = 0;
  double flops = 0;
};

/// Forward + backward (2 × forward) + optimizer of `samples` samples: for each layer the larger of
/// FLOPs / (efficiency × peak) and bytes moved / memory bandwidth; launches × launch time on the host.
/// Source of the roofline: Williams, Waterman, Patterson, CACM 52(4), 2009.
StepEstimate EstimateStep(const spec::Model& model, const spec::Shape& input,
                          const spec::Training& training, const spec::DevicePreset& device,
                          std::int64_t samples);

/// The cost of steps on the emulated device of an experiment. Thread-safe.
class StepModel {
 public:
  explicit StepModel(const spec::Experiment& experiment);
  /// Device time of step `step` (the draw's key) of `samples` samples.
  base::Duration Device(std::int64_t step, std::int64_t samples) const;
  /// Host time to launch it; 0 for a stated cost.
  base::Duration Host(std::int64_t samples) const;
  /// Time of copying `bytes` to the device; 0 when the device states no link.
  base::Duration HostToDevice(base::Bytes bytes, bool pinned) const;

 private:
  spec::Device device_;
  std::uint64_t seed_ = 0;
  StepEstimate full_, one_;  ///< the preset's estimate at the batch size and at one sample
  std::int64_t batch_size_ = 1;
};

}  // namespace pipesim::cost
