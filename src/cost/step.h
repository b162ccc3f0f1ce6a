// The training step of a pipeline: what it costs at any batch size, and the server that engines
// use. Never sleeps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/drawn.h"
#include "base/units.h"
#include "cost/roofline.h"
#include "cost/step_table.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Where the figures of a part come from.
enum class Source : std::uint8_t {
  kFree,       ///< nothing is known or stated: it costs nothing
  kStated,     ///< by the experiment, presets included
  kEstimated,  ///< from the model's layers and a device's figures
  kProfile,    ///< measured on a machine, kept in its profile
  kRun,        ///< measured in a run
};

/// A stated step: base + per_sample × samples, each drawn once a step.
struct StatedStep {
  base::Drawn<base::Duration> base, per_sample;
  bool operator==(const StatedStep&) const = default;
};

/// A step of the CPU that does not follow the last one at once takes `longer`: others have used the
/// caches meanwhile, and threads have gone to sleep.
struct PausedStep {
  base::Duration pause, longer;
  bool operator==(const PausedStep&) const = default;
};

/// The step of the CPU on so many threads.
struct StepOnThreads {
  int threads = 1;
  StepTable step;
  bool operator==(const StepOnThreads&) const = default;
};

/// Device time of a step, or its wall time where the CPU trains.
struct Step {
  using Cost = std::variant<StatedStep, StepTable, std::shared_ptr<const Roofline>>;
  Cost cost;
  double factor = 1;  ///< on a roofline's estimate
  Source source = Source::kFree;
  /// Threads of the CPU that trains; 0: an asynchronous device of its own.
  int threads = 0;
  /// Where the CPU trains, CPU time for each second of a step; nullopt: unknown, at least 1.
  std::optional<double> cpu_per_wall;
  /// Where the CPU trains and this was measured; ascending.
  std::vector<PausedStep> after_pauses;
  /// Where several threads train: the step on one.
  std::optional<StepTable> one_thread;
  /// On fewer threads than `threads` and more than one, where it was measured.
  std::vector<StepOnThreads> on_fewer;
  /// Where several threads train: how often they meet in a step. Each operation is one parallel
  /// loop.
  int barriers = 1;
  /// Host time to launch one step on an asynchronous device.
  base::Duration launch{};
  /// Of it, what does not need the lock of the trainer's interpreter: the thread waits.
  base::Duration launch_unlocked{};
  /// Of each step on an asynchronous device: its kernels wait for their launches, although the host
  /// launches the step faster than the device computes it. A table's times are without it.
  base::Duration gap{};
  // The device, apart from its speed:
  std::string device_name;
  std::optional<base::Bytes> device_memory;

  bool operator==(const Step&) const = default;
  bool on_cpu() const { return threads > 0; }
  /// Whether steps of one size take different times.
  bool Varies() const;
  /// Mean time of a step of `samples`.
  base::Duration Mean(std::int64_t samples) const;
  /// The same on `on_threads` threads of the CPU: what these are known to take. Else fewer than
  /// `threads` take at most threads / on_threads times as long, and no longer than one; more gain
  /// nothing.
  base::Duration MeanOn(std::int64_t samples, int on_threads) const;
  /// How much longer a step takes that begins `pause` after the last one's end: linear between the known
  /// pauses, constant beyond the longest.
  base::Duration LongerAfter(base::Duration pause) const;
  /// Every step takes `factor` times as long; launches and the wait for them do not change.
  Step Scaled(double factor) const;
  /// The step of a pool whose threads sleep at barriers instead of spinning, for steps of `samples`:
  /// each parallel loop wakes the pool, and its end the training thread.
  Step WithSleepingPool(std::int64_t samples, base::Duration wake_up) const;
};

/// The step that the experiment states: a cost or a preset's roofline on an emulated device; free
/// if it states neither. Throws std::invalid_argument when a layer does not fit its input.
Step StatedStepOf(const spec::Experiment& experiment);
/// Host time to launch one eager step, or its graph.
base::Duration LaunchTime(const spec::Experiment& experiment, base::Duration each);

/// Answers what each step of a run takes. Thread-safe.
class StepServer {
 public:
  /// The server of accelerator `rank`, which has its own draws.
  StepServer(const Step& step, std::int64_t batch_size, std::uint64_t seed, int rank = 0);
  /// Time of step `number` (the draw's key) of `samples` samples.
  base::Duration Time(std::int64_t number, std::int64_t samples) const;
  base::Duration launch() const { return step_.launch; }
  /// Mean time of a full step.
  base::Duration full() const { return full_; }

 private:
  Step step_;
  std::int64_t batch_size_;
  std::uint64_t seed_, rank_;
  base::Duration full_{};
  bool drawn_;  ///< a stated cost that varies from step to step
};

}  // namespace pipesim::cost
