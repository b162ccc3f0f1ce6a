// One operation of `bench`, set up on its device and ready to be repeated.
#pragma once

#include <cstdint>

#include "cost/operation.h"
#include "spec/experiment.h"

namespace pipesim::engine {

struct BenchRequest {
  cost::Operation operation = cost::Operation::kAdd;
  std::int64_t size = 1;
  spec::DeviceId device = {};         ///< kCpu or kCuda
  spec::DeviceId second = {};         ///< of kTwoDevices
  int compute_threads = 1;            ///< of the CPU
  spec::Experiment experiment = {};   ///< of kStep: model, precision, optimizer
};

/// For the thread that made it.
class BenchLoop {
 public:
  virtual ~BenchLoop() = default;
  /// Does the operation `count` >= 1 times in a row, then waits for the device. The times are of all
  /// together; on the CPU both are the same. Throws OutOfMemory.
  virtual cost::OperationTime Run(std::int64_t count) = 0;
};

}  // namespace pipesim::engine
