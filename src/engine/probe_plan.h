// What a run shall try once its measured part is over (design section 5, probes). Plain data.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"

namespace pipesim::engine {

/// A run that may try settings has room for this many times its window: as far as the decision tries
/// workers and prefetch.
inline constexpr int kRoomForProbes = 4;

/// Can be changed live: at most kRoomForProbes times the window; workers only with `dispatch: round_robin`.
struct LiveSetting {
  std::string change;  ///< names the probe in the trace
  int workers = 0;
  int prefetch_factor = 0;
  int compute_threads = 0;   ///< of a trainer on the CPU; 0: as they are
  double expected_gain = 0;  ///< how long blocks with the change are planned to take
  bool waits = true;         ///< training will wait for batches, as predicted
};

struct ProbePlan {
  base::Duration most_time{};  ///< for all probes together
  std::optional<LiveSetting> setting;
  std::optional<double> step_s;  ///< of the run as it is; nullopt: a block shows it
};

}  // namespace pipesim::engine
