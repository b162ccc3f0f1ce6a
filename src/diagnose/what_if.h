// The what-if table: remedies and ceilings, each predicted. Never classifies.
#pragma once

#include <string_view>
#include <vector>

#include "diagnose/decide.h"
#include "diagnose/levers.h"

namespace pipesim::diagnose {

/// Largest gain first. Empty when the run has no throughput to compare with. samples_per_s is the
/// measured rate × (1 + gain), so that the model's error on this run cancels out. No row beats what
/// bounds it: free data bounds changes of the data side, free compute those of the compute side,
/// the bounds of its own pipeline each.
std::vector<WhatIf> WhatIfs(const Question& question, const Decision& decision);

/// Names `then` of the largest rows anew where their bounds, by which it was named, do not explain their rates: epochs'
/// first batches, order, caches.
void NameNextLimits(const Question& question, std::vector<WhatIf>& rows);

/// The row of this text, and its place in the table; nullopt when there is none.
std::optional<std::size_t> FindRow(const std::vector<WhatIf>& rows, std::string_view change);

/// Whether it can be recommended: flags make it, training stays the same, and it is no memory that
/// nobody knows to be there.
inline bool CanBeMade(const WhatIf& row) {
  const bool there = row.takes == Takes::kMemory ? row.feasible_here == true
                                                 : row.feasible_here != false;
  return !row.set.empty() && row.takes != Takes::kNothing && !row.changes_training && there;
}

}  // namespace pipesim::diagnose
