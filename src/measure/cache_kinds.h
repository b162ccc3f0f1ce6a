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

/// All kinds of the run, in order; the last is the steady one. Empty if no cache hits are known or
/// no epoch is whole.
std::vector<EpochKind> EpochKinds(const trace::RunTrace& trace, const spec::Experiment& experiment);

/// The epochs to measure: those of the last kind, if kinds differ or there is an emulated cache
/// (its hits change along each epoch); all whole ones where accelerators meet, since MLPerf Storage counts epochs, each
/// with its begin. nullopt: the window need not be made of whole epochs.
std::optional<EpochRange> EpochsToJudge(const trace::RunTrace& trace,
                                        const spec::Experiment& experiment);

}  // namespace pipesim::measure
