// What memory an experiment will hold, part by part, before anything of it is allocated: so
// that a run which cannot fit is refused with the reason, and not killed half way. Adds up what is
// known; what is not is named and left out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/memory.h"
#include "cost/step.h"
#include "spec/experiment.h"

namespace pipesim::cost {

struct MemoryPart {
  std::string what;  ///< "7 batches of 1.51 GB"
  double bytes = 0;  ///< not integer: what is asked for may be beyond any machine
};

struct MemoryPlan {
  std::vector<MemoryPart> parts;      ///< in the order a reader wants them; none is 0
  std::vector<std::string> left_out;  ///< what has no known size
  double Total() const;
};

/// Of an experiment whose device is chosen (not kAuto). An upper bound of its parts: every slot of
/// the batch pool is counted as filled, as it is in a run that training holds back. Of several
/// accelerators each holds as much.
MemoryPlan PlanMemory(const spec::Experiment& experiment);

/// Why the experiment cannot run within `bound`: what it asks for by part, what is free and by
/// which limit, and the largest batch and window that would fit, as flags. nullopt: it fits.
std::optional<std::string> MemoryRefusal(const spec::Experiment& experiment,
                                         const base::MemoryBound& bound);

/// The same for the memory of the device that `step` describes, in predictions: weights,
/// gradients, optimizer state, activations and `in_flight` input batches. nullopt: it fits, or
/// nothing is known of the device's memory.
std::optional<std::string> DeviceMemoryRefusal(const spec::Experiment& experiment,
                                               const Step& step);

/// Address space of thread stacks, which counts as data although nearly none of it is ever used.
base::Bytes StackRoom(const spec::Experiment& experiment);

}  // namespace pipesim::cost
