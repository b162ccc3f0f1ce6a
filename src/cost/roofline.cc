#include "cost/roofline.h"

#include <algorithm>
#include <cmath>

namespace pipesim::cost {
namespace {

using base::Duration;
using spec::Optimizer;

// Forward, gradient of the input, gradient of the parameters.
constexpr int kPasses = 3;
// Without the gradient of the input.
constexpr int kPassesOfFirst = 2;
// Layers in front of all parameters (flatten) have no gradient at all.
constexpr int kPassesBeforeFirst = 1;

// Bytes for each element of the input until the first layer reads it, as the trainer prepares
// images: cast from one byte to fp32 (1 + 4), scaled and shifted (4 + 4 each).
constexpr double kInputBytes = 21;
constexpr int kInputLaunches = 3;  // cast, scale, shift
// Log-softmax and likelihood forward; the first gradient and the two backward.
constexpr int kLossLaunches = 2 + 3;

constexpr double kMasterBytes = 4;  // parameters are updated in fp32 at any precision

// PyTorch's multi-tensor optimizers: elementwise kernels over all parameters.
struct Update {
  int passes;      // arrays of the parameters' size read or written
  int operations;  // kernels, as long as one covers all parameters
};
Update UpdateOf(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kSgd:
      return {3, 1};  // p += a g: reads p and g, writes p
    case Optimizer::kMomentum:
      return {2 + 3 + 3, 3};  // m *= b; m += g; p += a m
    case Optimizer::kAdam:
      // lerp(m, g); v *= b; v += c g g; s = sqrt v; s /= d; s += e; p += a m / s
      return {3 + 2 + 4 + 2 + 2 + 2 + 4, 7};
  }
  return {0, 0};
}

// One multi-tensor kernel covers at most 320 blocks of 65,536 elements (ATen,
// MultiTensorApply.cuh).
constexpr double kElementsOfOneUpdate = 320.0 * 65536.0;

/// FLOP/s of a layer. fp32 is what PyTorch does by default (torch.backends.cudnn.allow_tf32 is true,
/// torch.backends.cuda.matmul.allow_tf32 is false).
double PeakFlops(const spec::LayerCost& layer, const spec::Training& training,
                 const spec::DevicePreset& device) {
  const double reached = layer.convolution ? device.conv_efficiency : device.efficiency;
  const bool bf16 = training.precision == spec::Precision::kBf16 && device.bf16_flops_per_s > 0;
  if (bf16) return reached * device.bf16_flops_per_s;
  const bool tf32 = training.precision == spec::Precision::kTf32 || layer.convolution;
  return reached *
         (tf32 ? std::max(device.tf32_flops_per_s, device.fp32_flops_per_s) : device.fp32_flops_per_s);
}

double ElementBytes(const spec::Training& training) {
  return training.precision == spec::Precision::kBf16 ? 2 : 4;
}

/// A layer, and how many passes of its size a step makes.
struct PassedLayer {
  spec::LayerCost cost;
  int times = 1;
};
struct PassedLayers {
  std::vector<PassedLayer> layers;
  double parameters = 0;
};

PassedLayers PassesOf(const spec::Model& model, const spec::Shape& input) {
  PassedLayers passed;
  for (spec::LayerCost& layer : spec::CostsOf(model, input)) {
    const bool is_first = passed.parameters == 0 && layer.parameters > 0;
    passed.parameters += static_cast<double>(layer.parameters);
    const int times = is_first                 ? kPassesOfFirst
                      : passed.parameters == 0 ? kPassesBeforeFirst
                                               : kPasses;
    passed.layers.push_back({std::move(layer), times});
  }
  return passed;
}

int UpdateLaunches(const PassedLayers& passed, const spec::Training& training) {
  const double updates = std::ceil(passed.parameters / kElementsOfOneUpdate);
  return UpdateOf(training.optimizer).operations * static_cast<int>(updates);
}

int LaunchesOf(const PassedLayers& passed, const spec::Training& training) {
  int launches = kInputLaunches + kLossLaunches + UpdateLaunches(passed, training);
  for (const PassedLayer& layer : passed.layers)
    launches += layer.times * layer.cost.forward_launches;
  return launches;
}

}  // namespace

int LaunchesOfStep(const spec::Model& model, const spec::Shape& input,
                   const spec::Training& training) {
  return LaunchesOf(PassesOf(model, input), training);
}

Roofline::Roofline(const spec::Model& model, const spec::Shape& input,
                   const spec::Training& training, const spec::DevicePreset& device)
    : bytes_per_s_(device.memory_bandwidth.per_s),
      cached_bytes_per_s_(device.cache_bandwidth.value_or(device.memory_bandwidth).per_s) {
  const double element = ElementBytes(training);
  const double kernel_s = base::ToSeconds(device.kernel);
  parts_.push_back({.bytes_per_sample = kInputBytes * static_cast<double>(spec::Elements(input)),
                    .least_s = kInputLaunches * kernel_s});
  parts_.push_back({.least_s = kLossLaunches * kernel_s});
  const PassedLayers passed = PassesOf(model, input);
  for (const auto& [layer, times] : passed.layers) {
    parts_.push_back(
        {.compute_s_per_sample = layer.forward_flops / PeakFlops(layer, training, device),
         .bytes_per_sample = static_cast<double>(layer.elements_in + layer.elements_out) * element,
         .bytes_fixed = static_cast<double>(layer.parameters) * element,
         .least_s = layer.forward_launches * kernel_s,
         .times = times});
    flops_per_sample_ += times * layer.forward_flops;
  }
  if (passed.parameters > 0) {
    const Update update = UpdateOf(training.optimizer);
    parts_.push_back({.bytes_fixed = update.passes * passed.parameters * kMasterBytes,
                      .least_s = UpdateLaunches(passed, training) * kernel_s});
  }
  launches_ = LaunchesOf(passed, training);
  host_ = device.step_launch * launches_;
}

double Roofline::MemorySeconds(double bytes) const {
  const auto cached = static_cast<double>(kCachedBytes.count);
  const auto uncached = static_cast<double>(kUncachedBytes.count);
  if (cached_bytes_per_s_ == bytes_per_s_ || bytes >= uncached) return bytes / bytes_per_s_;
  const double beyond = std::log(std::max(bytes, cached) / cached) / std::log(uncached / cached);
  return bytes / (cached_bytes_per_s_ + beyond * (bytes_per_s_ - cached_bytes_per_s_));
}

StepEstimate Roofline::Estimate(std::int64_t samples) const {
  const auto n = static_cast<double>(samples);
  double device_s = 0;
  for (const Part& part : parts_) {
    const double compute_s = part.compute_s_per_sample * n;
    const double memory_s = MemorySeconds(part.bytes_per_sample * n + part.bytes_fixed);
    device_s += part.times * std::max({compute_s, memory_s, part.least_s});
  }
  return {.device = base::FromSeconds(device_s),
          .host = host_,
          .launches = launches_,
          .flops = flops_per_sample_ * n};
}

StepEstimate EstimateStep(const spec::Model& model, const spec::Shape& input,
                          const spec::Training& training, const spec::DevicePreset& device,
                          std::int64_t samples) {
  return Roofline(model, input, training, device).Estimate(samples);
}

}  // namespace pipesim::cost
