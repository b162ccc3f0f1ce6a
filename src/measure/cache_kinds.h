// Cold and warm epochs: how much of an epoch's reads a cache served, and which epochs hit alike.
// Knows nothing of steps and windows.
#pragma once

#include <optional>
#include <vector>

#include "measure/measurement.h"

namespace pipesim::measure {

/// The storage is emulated, with a cache in front of it.
bool HasEmulatedCache(const spec::Storage& storage);

/// EpochResult::cache_hit_fraction.
std::optional<double> CacheHitFraction(const trace::RunTrace& trace,
                                       const trace::EpochRecord& epoch,
                                       const spec::Storage& storage);

/// Neighbouring whole epochs of one kind: their hit fractions are within 5 points of the last's,
/// and what chance leaves open.
struct EpochKind {
  EpochRange epochs;
  double hit_fraction = 0;   ///< of the last
  double samples_per_s = 0;  ///< over all
};
/// All kinds of the run, in order; the last is the steady one. Empty where no cache's hits are
/// known or no epoch is whole.
std::vector<EpochKind> EpochKinds(const trace::RunTrace& trace, const spec::Experiment& experiment);

/// The epochs to measure by: those of the last kind, where an emulated cache is there (what it hits
/// changes along each epoch) or kinds differ. nullopt: the window need not go by epochs.
std::optional<EpochRange> EpochsToJudge(const trace::RunTrace& trace,
                                        const spec::Experiment& experiment);

}  // namespace pipesim::measure
