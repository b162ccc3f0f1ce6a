// Cost of a training step and of a host-to-device copy on an emulated device: a stated cost, a
// table of measured steps, or a roofline over the model's layers. Never sleeps. The roofline is an
// estimate: it ignores kernel fusion and the casts of mixed precision.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "cost/step_table.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// A roofline's estimate for one step.
struct StepEstimate {
  base::Duration device{};  ///< compute time of the device
  base::Duration host{};    ///< launch time of the host
  int launches = 0;
  double flops = 0;  ///< forward and backward
};

/// Array sizes at which DevicePreset's cache_bandwidth and memory_bandwidth are measured on a CPU.
/// Between the two sizes the bandwidth is interpolated over the logarithm of the size.
inline constexpr base::Bytes kCachedBytes{3 << 20};
inline constexpr base::Bytes kUncachedBytes{96 << 20};

/// The roofline of one model on one device, for any number of samples. A pass through a layer takes
/// the larger of FLOPs / (efficiency × peak) and bytes moved / memory bandwidth. Each layer has
/// three passes of equal cost: forward, gradient of the input, gradient of the parameters; up to
/// the first layer with parameters, whose input needs no gradient, only two. Casting and
/// normalising the input and the optimizer only move memory. The host takes launches × launch time.
/// Source of the roofline: Williams, Waterman, Patterson, CACM 52(4), 2009; of backward = 2 ×
/// forward: Kaplan et al., "Scaling laws for neural language models", 2020, section 2.1. Immutable;
/// thread-safe.
class Roofline {
 public:
  /// Throws std::invalid_argument when a layer does not fit its input.
  Roofline(const spec::Model& model, const spec::Shape& input, const spec::Training& training,
           const spec::DevicePreset& device);
  StepEstimate Estimate(std::int64_t samples) const;

 private:
  struct Part {
    double compute_s_per_sample = 0;
    double bytes_per_sample = 0, bytes_fixed = 0;
    int times = 1;
  };
  double MemorySeconds(double bytes) const;

  double bytes_per_s_ = 0, cached_bytes_per_s_ = 0;
  std::vector<Part> parts_;
  double flops_per_sample_ = 0;
  int launches_ = 0;
  base::Duration host_{};
};

/// Kernels launched by one eager step: forward, backward and optimizer. Throws like Roofline.
int LaunchesOfStep(const spec::Model& model, const spec::Shape& input,
                   const spec::Training& training);

/// Roofline(…).Estimate(samples).
StepEstimate EstimateStep(const spec::Model& model, const spec::Shape& input,
                          const spec::Training& training, const spec::DevicePreset& device,
                          std::int64_t samples);

/// Step costs on an experiment's emulated device: from the measured table (Device::step_table) if
/// there is one, else the stated cost (base and per-sample part, drawn once per step), else the
/// preset's roofline. Thread-safe.
class StepModel {
 public:
  /// `rank`: the accelerator, which keys the draws.
  explicit StepModel(const spec::Experiment& experiment, int rank = 0);
  /// Device time of step number `step` (the draw's key) with `samples` samples.
  base::Duration Device(std::int64_t step, std::int64_t samples) const;
  /// Host time to launch a step: the preset's launch time per kernel; 0 without a preset.
  base::Duration Host(std::int64_t samples) const;
  /// Time to copy `bytes` to the device; 0 without a link bandwidth.
  base::Duration HostToDevice(base::Bytes bytes, bool pinned) const;

 private:
  spec::Device device_;
  std::uint64_t seed_ = 0, rank_ = 0;
  std::int64_t batch_size_ = 1;
  std::optional<StepTable> table_;
  std::optional<Roofline> roofline_;
  base::Duration full_device_{};  ///< cached for full batches, the usual case
  base::Duration host_{};
  struct Stated {
    base::Duration base{}, per_sample{};
  };
  std::optional<Stated> fixed_;  ///< stated cost without random draws
};

}  // namespace pipesim::cost
