#include "cost/operation.h"

#include <algorithm>

#include "cost/roofline.h"

namespace pipesim::cost {
namespace {

constexpr double kNumberBytes = 4;

// Host time in launches of an addition, which takes no arguments but its own tensor. Measured on an H200 machine
// (docs/seed-experiments.md): 6.65 us an addition, 8.7 to 24 us a product, 15.4 in the median, 30.4 and 31.1 us a
// product with its norm, 12 us more where the host reads the norm.
constexpr double kProductLaunches = 2.3;
constexpr double kNormLaunches = 2.3;
constexpr double kReadLaunches = 1.8;

Work MatmulWork(double n) {
  return {.flops = 2 * n * n * n, .bytes = 3 * n * n * kNumberBytes, .launches = kProductLaunches};
}

Work NormWork(double n) {
  const Work product = MatmulWork(n);
  return {.flops = product.flops + 2 * n * n,
          .bytes = product.bytes + n * n * kNumberBytes,
          .launches = product.launches + kNormLaunches};
}

Work Twice(const Work& work) { return {2 * work.flops, 2 * work.bytes, 2 * work.launches}; }

/// The device's time for the work; its launches are the host's.
double DeviceSeconds(Operation operation, const Work& work, const spec::Experiment& experiment,
                     const spec::DevicePreset& device) {
  const bool tf32 = experiment.training.precision == spec::Precision::kTf32;
  const double efficiency = tf32 ? device.efficiency : device.product_efficiency;
  return std::max(work.flops / (efficiency * PeakOf(operation, experiment, device)),
                  work.bytes / device.memory_bandwidth.per_s);
}

}  // namespace

double PeakOf(Operation operation, const spec::Experiment& experiment,
              const spec::DevicePreset& device) {
  const spec::Precision precision = experiment.training.precision;
  const double tf32 = std::max(device.tf32_flops_per_s, device.fp32_flops_per_s);
  if (precision == spec::Precision::kTf32) return tf32;
  if (operation != Operation::kStep) return device.fp32_flops_per_s;
  if (precision == spec::Precision::kBf16) return device.bf16_flops_per_s;
  const auto layers = spec::CostsOf(experiment.model, experiment.dataset.shape);
  const bool convolves = std::any_of(layers.begin(), layers.end(),
                                     [](const spec::LayerCost& layer) { return layer.convolution; });
  return convolves ? tf32 : device.fp32_flops_per_s;
}

Work WorkOf(Operation operation, std::int64_t size, const spec::Experiment& experiment) {
  const auto n = static_cast<double>(size);
  switch (operation) {
    case Operation::kAdd:
      return {.flops = n * n, .bytes = 2 * n * n * kNumberBytes, .launches = 1};
    case Operation::kMatmul:
      return MatmulWork(n);
    case Operation::kNormEach:
    case Operation::kNormOnce:
      return NormWork(n);
    case Operation::kHostCopy:
    case Operation::kPinnedIn:
    case Operation::kPageableIn:
    case Operation::kPinnedOut:
    case Operation::kPageableOut:
      return {.flops = 0, .bytes = n, .launches = 1};
    case Operation::kTwoInTurn:
    case Operation::kTwoStreams:
    case Operation::kTwoDevices:
      return Twice(MatmulWork(n));
    case Operation::kStep:
      break;
  }
  spec::DevicePreset any;
  any.fp32_flops_per_s = any.bf16_flops_per_s = any.memory_bandwidth.per_s = 1;
  const StepEstimate step =
      EstimateStep(experiment.model, experiment.dataset.shape, experiment.training, any, size);
  return {.flops = step.flops, .bytes = 0, .launches = step.launches};
}

std::optional<OperationTime> EstimateOperation(Operation operation, std::int64_t size,
                                               const spec::Experiment& experiment,
                                               const spec::DevicePreset& device) {
  const Work work = WorkOf(operation, size, experiment);
  const double launch_s = base::ToSeconds(device.launch) * work.launches;
  const double device_s = DeviceSeconds(operation, work, experiment, device);
  switch (operation) {
    case Operation::kNormEach: {
      const double all_s = launch_s + device_s + kReadLaunches * base::ToSeconds(device.launch);
      return OperationTime{all_s, all_s};
    }
    case Operation::kPinnedIn:
      return OperationTime{launch_s, std::max(launch_s, work.bytes / device.h2d_bandwidth.per_s)};
    case Operation::kHostCopy:
    case Operation::kPageableIn:
    case Operation::kPinnedOut:
    case Operation::kPageableOut:
      return std::nullopt;
    case Operation::kTwoDevices:
      return OperationTime{launch_s, std::max(launch_s, device_s / 2)};
    case Operation::kStep: {
      const StepEstimate step = EstimateStep(experiment.model, experiment.dataset.shape,
                                             experiment.training, device, size);
      const double host_s = base::ToSeconds(step.host);
      return OperationTime{host_s, std::max(host_s, base::ToSeconds(step.device))};
    }
    default:
      return OperationTime{launch_s, std::max(launch_s, device_s)};
  }
}

}  // namespace pipesim::cost
