// Tries changes after the measured part of a run: blocks of steps with one thing changed, each
// beside a block of the run as it was (A B A B ...). Decides how long the blocks are and when
// enough is known; knows no threads and judges nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "engine/probe_plan.h"
#include "spec/experiment.h"
#include "trace/probes.h"

namespace pipesim::engine::threaded {

/// What probing asks of the consumer. Samples are those of the batch; nullopt: the run is ending.
class ProbeSeat {
 public:
  virtual ~ProbeSeat() = default;
  /// Takes the next batch and trains on it, as in the measured part.
  virtual std::optional<std::int64_t> Train() = 0;
  /// Between these two, loading is parked and TrainAgain trains on one finished batch.
  virtual bool BeginFreeData() = 0;
  virtual std::optional<std::int64_t> TrainAgain() = 0;
  virtual void EndFreeData() = 0;
  /// Takes the next batch and drops it.
  virtual std::optional<std::int64_t> Drop() = 0;
  /// Loads and trains by this setting from now on.
  virtual void Use(const LiveSetting& setting) = 0;
  /// Loads and trains by the run's own settings again.
  virtual void UseOwn() = 0;
  /// Samples made, or in work, and not yet taken: up to a constant.
  virtual std::int64_t Stock() const = 0;
  /// The last batch taken was waited for.
  virtual bool Starved() const = 0;
  virtual base::Instant Now() const = 0;
};

/// The counts of batches that blocks follow from.
struct ProbeShape {
  int workers = 0, prefetch_factor = 0;
  std::int64_t in_flight = 1;
  bool waits = true;  ///< training waits for batches

  std::int64_t window() const { return std::int64_t{workers} * prefetch_factor; }
  /// Batches that are made side by side.
  std::int64_t in_work() const { return workers > 0 ? workers : 1; }
  /// Workers deliver in bursts of W: where training waits for them, only whole cycles compare.
  std::int64_t cycle() const { return waits ? in_work() : 1; }
};

/// `waits`: training does for batches.
ProbeShape ProbeShapeOf(const spec::Experiment& experiment, bool waits);

/// Whether a run of `steps` steps in `elapsed` was long enough that probes fit their share of it.
bool CanProbe(std::int64_t steps, base::Duration elapsed, const ProbeShape& shape);

/// Returns when the time is up, when every probe is known well enough, or when the run is ending;
/// only whole pairs count.
trace::Probes RunProbes(ProbeSeat& seat, const ProbePlan& plan, const ProbeShape& shape);

}  // namespace pipesim::engine::threaded
