// What a training step and a host-to-device copy cost on a device that is described, not there:
// a stated cost, a table of measured steps, or a roofline over the model's layers. Never sleeps.
// The roofline is an estimate: it knows nothing of caches, of kernels that are fused, or of the
// casts that mixed precision adds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "cost/step_table.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// A roofline's answer for one step.
struct StepEstimate {
  base::Duration device{};  ///< time the device computes
  base::Duration host{};    ///< time the host needs to launch it
  int launches = 0;
  double flops = 0;  ///< forward and backward
};

/// What a core's caches hold and what they do not: the arrays of which DevicePreset's
/// cache_bandwidth and memory_bandwidth are measured on a CPU. Between the two sizes the bandwidth
/// goes from one to the other with the logarithm of the size.
inline constexpr base::Bytes kCachedBytes{3 << 20};
inline constexpr base::Bytes kUncachedBytes{96 << 20};

/// The roofline of one model on one device, for any number of samples. Each layer takes the larger
/// of FLOPs / (efficiency × peak) and bytes moved / memory bandwidth, three times over: forward,
/// and the gradients of its input and of its parameters, each as large as the forward pass (twice
/// only up to the first layer with parameters, whose input needs no gradient). The input's cast and
/// normalisation and the optimizer move memory alone. Launches × launch time on the host.
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

/// Kernels that one eager step launches, forward, backward and optimizer. Throws as Roofline does.
int LaunchesOfStep(const spec::Model& model, const spec::Shape& input,
                   const spec::Training& training);

/// Roofline(…).Estimate(samples).
StepEstimate EstimateStep(const spec::Model& model, const spec::Shape& input,
                          const spec::Training& training, const spec::DevicePreset& device,
                          std::int64_t samples);

/// The cost of steps on the described device of an experiment: measured ones (Device::step_table) if
/// there are any, else the stated one (base and per-sample cost drawn once a step), else the preset's
/// roofline. Thread-safe.
class StepModel {
 public:
  /// Of accelerator `rank`, whose draws are its own.
  explicit StepModel(const spec::Experiment& experiment, int rank = 0);
  /// Device time of step `step` (the draw's key) of `samples` samples.
  base::Duration Device(std::int64_t step, std::int64_t samples) const;
  /// Host time to launch it: the preset's launch time for each kernel; 0 without a preset.
  base::Duration Host(std::int64_t samples) const;
  /// Time of copying `bytes` to the device; 0 when the device states no link.
  base::Duration HostToDevice(base::Bytes bytes, bool pinned) const;

 private:
  spec::Device device_;
  std::uint64_t seed_ = 0, rank_ = 0;
  std::int64_t batch_size_ = 1;
  std::optional<StepTable> table_;
  std::optional<Roofline> roofline_;
  base::Duration full_device_{};  ///< at the batch size, what almost every step asks for
  base::Duration host_{};
  struct Stated {
    base::Duration base{}, per_sample{};
  };
  std::optional<Stated> fixed_;  ///< where nothing of the stated cost is drawn
};

}  // namespace pipesim::cost
