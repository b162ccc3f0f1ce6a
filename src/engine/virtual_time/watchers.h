// Those who look at a virtual run from time to time: readings of its resources, whether it has run
// long enough, and how long the consumer has waited.
#pragma once

#include <functional>
#include <string>

#include "engine/virtual_time/consumer.h"

namespace pipesim::engine::virtual_time {

/// Samples resources, asks RunControl::enough and looks at its stop flag: every 100 ms, later every
/// 128th of the time so far, so that a run is asked a number of times that grows with the logarithm
/// of its length.
class Monitor final : public Actor {
 public:
  Monitor(VirtualRun& run, const RunControl& control, int id);
  void Resume(base::Duration contended) override;
  void SampleResources();

 private:
  VirtualRun& run_;
  const RunControl& control_;
};

/// Ends the run when the consumer has waited loader.timeout for any one batch; `missing` says which
/// batch is.
class Timeout final : public Actor {
 public:
  Timeout(VirtualRun& run, const Consumer& consumer, std::function<std::string()> missing, int id);
  void Resume(base::Duration contended) override;

 private:
  VirtualRun& run_;
  const Consumer& consumer_;
  std::function<std::string()> missing_;
};

}  // namespace pipesim::engine::virtual_time
