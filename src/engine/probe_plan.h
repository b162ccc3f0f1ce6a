// What a run shall try once its measured part is over (design section 5, probes). Plain data.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"

namespace pipesim::engine {

/// Can be changed live: at most four times the window; workers only with `dispatch: round_robin`.
struct LiveSetting {
  std::string change;  ///< names the probe in the trace
  int workers = 0;
  int prefetch_factor = 0;
};

struct ProbePlan {
  base::Duration most_time{};  ///< for all probes together
  std::optional<LiveSetting> setting;
};

}  // namespace pipesim::engine
