// The operations that `bench` times: what each computes and moves, and what it would take on a
// described device. Runs nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

enum class Operation {
  kAdd,           ///< a += a, n x n of fp32
  kMatmul,        ///< a product of two n x n matrices of fp32
  kNormEach,      ///< such a product and its Frobenius norm, which the host reads each time
  kNormOnce,      ///< the same, the host reads the last norm
  kHostCopy,      ///< n bytes within the host's memory
  kPinnedIn,      ///< n bytes from page-locked memory to the device
  kPageableIn,    ///< n bytes from ordinary memory to the device
  kPinnedOut,     ///< n bytes from the device to page-locked memory
  kPageableOut,   ///< n bytes from the device to ordinary memory
  kTwoInTurn,     ///< two products, one after the other on one device
  kTwoStreams,    ///< two products on two streams of one device
  kTwoDevices,    ///< two products, each on a device of its own
  kStep,          ///< a training step of n samples
};

struct Work {
  double flops = 0;
  double bytes = 0;  ///< that must be moved at least: operands and results once
  double launches = 0;  ///< the host's time to launch it, in launches of an addition
};
/// `experiment`: the model of kStep; else unused.
Work WorkOf(Operation operation, std::int64_t size, const spec::Experiment& experiment);

/// FLOP/s of the arithmetic that it uses: fp32, of convolutions and with precision tf32 TF32 where the
/// device has it, of a step in bf16 that.
double PeakOf(Operation operation, const spec::Experiment& experiment, const spec::DevicePreset& device);

/// Of one of many, one after another.
struct OperationTime {
  double enqueue_s = 0;  ///< until the host is free for the next one
  double done_s = 0;     ///< until it is done
  bool operator==(const OperationTime&) const = default;
};
/// By the preset's roofline: the host launches, the device takes the larger of FLOPs / (efficiency x
/// peak) and bytes / bandwidth, both at once unless the host reads each result, which takes it time of
/// its own. nullopt where the preset has no figure for it.
std::optional<OperationTime> EstimateOperation(Operation operation, std::int64_t size,
                                               const spec::Experiment& experiment,
                                               const spec::DevicePreset& device);

}  // namespace pipesim::cost
