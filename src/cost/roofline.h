// A training step on a described device: a roofline over the model's layers. An estimate: it ignores
// kernel fusion and the casts of mixed precision.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
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
/// the largest of FLOPs / (efficiency × peak), bytes moved / memory bandwidth, and kernels × the
/// shortest time of one. Each layer has three passes of equal cost: forward, gradient of the input,
/// gradient of the parameters; up to the first layer with parameters, whose input needs no gradient,
/// only two. Casting and normalising the input and the optimizer only move memory. The host takes
/// launches × the launch time of a training step.
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
    double least_s = 0;  ///< of its kernels
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

}  // namespace pipesim::cost
