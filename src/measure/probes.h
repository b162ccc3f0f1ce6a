// What the probes gained: each block with a change against the block of the run as it was beside it.
#pragma once

#include <string>
#include <vector>

#include "measure/interval.h"
#include "trace/probes.h"

namespace pipesim::measure {

struct Tried {
  trace::ProbeKind kind = trace::ProbeKind::kFreeData;
  std::string change;             ///< of a setting: the plan's name of it
  double base_samples_per_s = 0;  ///< of the blocks beside it
  double samples_per_s = 0;       ///< over all blocks with the change
  double gain = 0;                ///< geometric mean over the pairs of changed / base − 1
  Interval gain_interval;         ///< by Student's t over the logarithms of the pairs
};

/// Only probes of at least two pairs: one has no interval.
std::vector<Tried> TriedIn(const trace::Probes& probes);

}  // namespace pipesim::measure
