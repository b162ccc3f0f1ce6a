// The pipeline in virtual time: the same experiment in, the same trace out as from real threads, by
// a discrete-event simulation that never sleeps and starts no thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cost/machine.h"
#include "engine/executor.h"

namespace pipesim::engine {

/// A training step on a device that is the machine's own cores.
struct CpuStep {
  base::Duration wall{};  ///< with all its threads on cores of their own
  int threads = 1;        ///< that work side by side for all of it
};

struct VirtualParts {
  cost::Machine machine;
  /// What a step of so many samples costs where the CPU trains; needed for DeviceKind::kCpu alone.
  std::function<CpuStep(std::int64_t samples)> cpu_step;
  /// A full step on one thread, where `cpu_step` has several; nullopt: unknown.
  std::optional<base::Duration> step_on_one_thread;
};

/// Predicts experiments, each Run independently of the others; byte-identical for a seed. Any
/// thread may call Run, several at once. Run throws ConfigError for what it has no cost for: a CPU
/// that trains without `cpu_step`, decoding without Machine::decode_bandwidth. Where no device is
/// stated or described by a preset, steps are free. Of run.accelerators the trace is the first
/// one's, with the progress of the others.
///
/// Beside Executor: `enough` is asked about every 100 ms of virtual time, in long runs every 128th
/// of the time so far; on_progress is never called, as there is nothing to wait for.
std::unique_ptr<Executor> MakeVirtualExecutor(VirtualParts parts);

}  // namespace pipesim::engine
