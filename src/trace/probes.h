// What the run tried after its measured part: short blocks with one thing changed, each beside a
// block of the run as it was. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::trace {

enum class ProbeKind : std::uint8_t {
  kFreeData,      ///< the trainer on a finished batch, workers parked
  kFreeCompute,  ///< batches dropped on arrival, workers as they are
  kSetting,       ///< other settings, changed live
};

struct ProbeBlock {
  base::Duration time{};
  std::int64_t samples = 0;
};

/// Two blocks next to each other: the run as it was, and with the change.
struct ProbePair {
  ProbeBlock base, changed;
};

struct Probe {
  ProbeKind kind = ProbeKind::kFreeData;
  std::string change;  ///< kSetting: what was changed, as the plan named it
  std::vector<ProbePair> pairs;
};

struct Probes {
  base::Duration time{};  ///< of all blocks and of what lies between them
  std::vector<Probe> each;
};

}  // namespace pipesim::trace
