// When an emulated, asynchronous device copies and computes: one copy engine, one compute stream,
// each serving first in, first out. Computes instants and never sleeps: each engine waits in its
// own way.
#pragma once

#include <cstdint>
#include <limits>

#include "base/units.h"
#include "cost/pipeline.h"
#include "engine/state_visitor.h"
#include "spec/experiment.h"

namespace pipesim::engine {

struct DeviceCopy {
  base::Instant begin, end;
  /// Whether the host waits for the copy: it is blocking, or from pageable memory, which the driver
  /// stages.
  bool host_waits = false;
};

struct DeviceWork {
  base::Instant begin, end;
};

/// Not thread-safe.
class EmulatedDevice {
 public:
  /// The device of accelerator `rank`.
  EmulatedDevice(const spec::Experiment& experiment, const cost::Pipeline& pipeline, int rank = 0);

  /// A copy of `bytes` requested at `at`. Without overlap it queues behind the steps.
  DeviceCopy Copy(base::Instant at, base::Bytes bytes);
  /// Host time to launch a step.
  base::Duration LaunchTime() const { return step_.launch(); }
  /// The step that the host launches during [launch_begin, launch_end), on data copied by `data`.
  /// It computes while it is being launched, and ends no earlier than its last launch.
  DeviceWork Launch(std::int64_t step, std::int64_t samples, base::Instant data,
                    base::Instant launch_begin, base::Instant launch_end);
  /// Mean device time of a full step.
  base::Duration FullStep() const { return step_.full(); }
  /// No earlier launch than `launches_from` is to come.
  void Visit(StateVisitor& visitor, base::Instant launches_from);

 private:
  cost::StepServer step_;
  cost::Transfer transfer_;
  bool overlap_, host_waits_, pinned_;
  // The far past, yet safe to add to.
  base::Instant copy_free_{base::Duration(std::numeric_limits<base::Duration::rep>::min() / 2)};
  base::Instant compute_free_ = copy_free_;
};

}  // namespace pipesim::engine
