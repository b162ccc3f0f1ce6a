// Costs for tests, as an experiment states them.
#pragma once

#include "base/drawn.h"

namespace pipesim::tests {

inline base::Drawn<base::Duration> Fixed(base::Duration time) {
  return {base::Distribution::Fixed(static_cast<double>(time.count()))};
}

}  // namespace pipesim::tests
