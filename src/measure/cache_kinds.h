// Cold and warm epochs: how much of an epoch's reads a cache served, and which whole epochs at the
// end of a run are alike. Knows nothing of steps and rates.
#pragma once

#include <optional>

#include "measure/measurement.h"

namespace pipesim::measure {

/// EpochResult::cache_hit_fraction.
std::optional<double> CacheHitFraction(const trace::RunTrace& trace,
                                       const trace::EpochRecord& epoch,
                                       const spec::Storage& storage);

}  // namespace pipesim::measure
