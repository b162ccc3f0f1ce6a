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

/// Marks which state the consumer is in; the engine gives one to the trainer, so that every second
/// of a step has one owner. Leaving a state by entering the next costs one clock read.
class StateTimer {
 public:
  virtual ~StateTimer() = default;
  /// Ends the present state and begins `state`, both now.
  virtual void Enter(trace::State state) = 0;
  /// The instant the present state began: where work that did not really wait is scheduled from.
  virtual base::Instant scheduled() const = 0;
  /// After a wait to an emulated instant: the next state is scheduled from `end`, and what the
  /// clock shows beyond it counts as contended.
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
  std::optional<double> loss;  ///< when this step was to be read back
};

/// One full step with nothing beside it.
struct StepAlone {
  base::Duration time{};                        ///< on the device
  std::optional<base::Duration> cpu;            ///< of all threads, where the CPU trains
  std::optional<base::Duration> on_one_thread;  ///< its time there, where the CPU trains on several
};

/// The model or a batch does not fit. The message says what was asked and what was free.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// All calls come from the consumer thread, Submit and WaitDone for steps 0, 1, 2, … in order.
/// A batch's memory is not touched after WaitDone of its step returned. Throws OutOfMemory, or
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
  /// After the last step, outside the measured run, about half a second long; nullopt when it cannot
  /// be measured, or not in that time.
  virtual std::optional<StepAlone> MeasureStepAlone() { return std::nullopt; }
  virtual std::optional<base::Bytes> DeviceMemoryPeak() const { return std::nullopt; }
};

}  // namespace pipesim::engine
