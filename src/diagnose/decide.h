// The decision of design section 2: settings first, then demands. Uses predictions only; doubt, which
// needs measurements, is added elsewhere.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/demands.h"
#include "diagnose/settings.h"

namespace pipesim::diagnose {

/// One possible bottleneck: the gain of removing it, and the change that does.
struct Candidate {
  Verdict verdict = Verdict::kInconclusive;
  double gain = 0;
  Change change;
};

struct Decision {
  /// kBalanced when only several changes together gain; nullopt when nothing known limits.
  std::optional<Verdict> verdict;
  double gain = 0;   ///< of what the verdict names; for kBalanced, of the best pair
  bool tie = false;  ///< another demand is within the tie
  /// The setting that the verdict names; only for loader-bound and cpu-contention.
  std::optional<SettingGain> setting;
  /// The setting that the verdict named before a probe refuted it.
  std::optional<SettingGain> withdrawn = {};
  /// Everything that gains enough to count by itself: the verdict's own first, then by gain.
  std::vector<Candidate> candidates;
};

Decision Decide(const Variant& now, const Predictor& predict, const Thresholds& thresholds);

/// Whether the verdict names a part of loading, of which the experiment only says how often batches come
/// (loader.opaque).
bool IsHidden(Verdict verdict, const Variant& now);

/// Every demand made free in turn, the largest gain first; of equal ones, in the order of kDemands.
std::vector<Candidate> FreedDemands(const Variant& now, const Predictor& predict);

/// The verdict after the bottleneck of `decision` is removed; a loader setting is increased until
/// it is no longer the bottleneck. nullopt when nothing known limits then, or the decision has no
/// verdict.
std::optional<Verdict> SecondVerdict(const Decision& decision, const Variant& now,
                                     const Predictor& predict, const Thresholds& thresholds);

}  // namespace pipesim::diagnose
