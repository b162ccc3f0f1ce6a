// The training step behind the queue: LibTorch on a CPU or GPU, or an emulated device. One consumer
// thread drives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/clock.h"
#include "base/units.h"
#include "engine/batch_memory.h"
#include "spec/experiment.h"
#include "trace/span.h"

namespace pipesim::engine {

/// Records the consumer's state. The engine passes it to the trainer, so that every part of a step
/// has one state. Entering the next state costs one clock read.
class StateTimer {
 public:
  virtual ~StateTimer() = default;
  /// Ends the current state and begins `state`, both now.
  virtual void Enter(trace::State state) = 0;
  /// The scheduled begin of the current state: work that did not really wait starts here.
  virtual base::Instant scheduled() const = 0;
  /// Call after a wait until an emulated instant: the next state is scheduled from `end`, and time
  /// after it counts as contended.
  virtual void WaitedUntil(base::Instant end) = 0;
};

struct TrainerInfo {
  spec::DeviceId device;
  std::string device_name;
  bool asynchronous = false;
  int compute_threads = 0;
  std::int64_t parameters = 0;
  std::optional<base::Bytes> device_memory;
};

/// What the device did with one step, on the run's timeline.
struct StepDone {
  base::Instant begin, end;  ///< of the step on the device
  std::optional<base::Instant> transfer_begin, transfer_end;
  std::optional<double> loss;  ///< if this step was read back
};

/// One full step in isolation.
struct StepAlone {
  std::optional<base::Duration> time;           ///< on the device
  std::optional<base::Duration> cpu;            ///< CPU training: CPU time of all threads
  std::optional<base::Duration> on_one_thread;  ///< several threads: CPU time on one
  std::optional<base::Duration> pool_spin = {};  ///< several threads: how long each spins after it, CPU time
  /// A GPU: copying a full batch from page-locked memory, where batches come from pageable memory.
  std::optional<base::Duration> pinned_copy = {};
};

/// The model or a batch does not fit. The message gives the requested and the free amount.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// All calls come from the consumer thread, Submit and WaitDone for steps 0, 1, 2, … in order.
/// A batch's memory is not used after WaitDone of its step has returned. Throws OutOfMemory, or
/// std::runtime_error when the device fails.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual TrainerInfo info() const = 0;
  /// Copies the batch to the device and starts the step. Enters kTransfer, kHost and, when the
  /// device is synchronous, kForward, kBackward, kOptimizer (compute); kSync when `read_back`,
  /// which waits for the step's loss. The caller enters its next state when this returns.
  virtual void Submit(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) = 0;
  /// Waits until the step is done (the caller has entered kCompute) or `stop` is set (nullopt).
  virtual std::optional<StepDone> WaitDone(std::int64_t step, StateTimer& timer,
                                           const base::StopFlag& stop) = 0;
  /// Call outside the measured run, and on a device of its own after the last step. Takes about half
  /// a second; where long steps are timed on one thread, about 3 s or one step of the run. nullopt when
  /// nothing can be measured in that time.
  virtual std::optional<StepAlone> MeasureStepAlone() { return std::nullopt; }
  /// Steps compute on so many threads from now on; no effect where a device of its own computes.
  virtual void UseComputeThreads(int /*threads*/) {}
  virtual std::optional<base::Bytes> DeviceMemoryPeak() const { return std::nullopt; }
};

}  // namespace pipesim::engine
