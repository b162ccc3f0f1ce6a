// Periodic checks of a virtual run: resource samples, whether the run may end, and whether the
// consumer has waited too long.
#pragma once

#include <functional>
#include <string>

#include "engine/virtual_time/consumer.h"

namespace pipesim::engine::virtual_time {

/// Samples resources, asks RunControl::enough and looks at its stop flag: every 100 ms, later every
/// 1/128 of the time so far, so the number of checks grows with the logarithm of the run's length.
class Monitor final : public Actor {
 public:
  Monitor(VirtualRun& run, const RunControl& control, int id);
  void Resume(base::Duration contended) override;
  void Visit(StateVisitor&) override {}  // looks on
  void SampleResources();
  /// From one check to the next.
  static base::Duration Interval(base::Instant now);

 private:
  VirtualRun& run_;
  const RunControl& control_;
};

/// Ends the run when the consumer has waited loader.timeout for one batch; `missing` names that
/// batch.
class Timeout final : public Actor {
 public:
  Timeout(VirtualRun& run, const Consumer& consumer, std::function<std::string()> missing, int id);
  void Resume(base::Duration contended) override;
  void Visit(StateVisitor&) override {}  // looks on

 private:
  VirtualRun& run_;
  const Consumer& consumer_;
  std::function<std::string()> missing_;
};

}  // namespace pipesim::engine::virtual_time
