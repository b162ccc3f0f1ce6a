// The decision of design section 2 over one now: settings first, then demands. Looks at
// nothing but predictions; what a measurement adds (contention, doubt) comes on top of it.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/demands.h"
#include "diagnose/settings.h"

namespace pipesim::diagnose {

/// One thing that could be the bottleneck: what taking it out of the way gains, and how.
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
  /// cpu-contention from what was measured: its gain is no prediction, and the predictor leaves out
  /// what it costs.
  bool measured = false;
  /// The setting that the verdict names; only for loader-bound and cpu-contention.
  std::optional<SettingGain> setting;
  /// Everything that gains enough to count by itself: the verdict's own first, then by gain.
  std::vector<Candidate> candidates;
};

Decision Decide(const Variant& now, const Predictor& predict, const Thresholds& thresholds);

/// Every demand made free in turn, the largest gain first; of equal ones, in the order of kDemands.
std::vector<Candidate> FreedDemands(const Variant& now, const Predictor& predict);

/// The verdict once what `decision` names is out of the way; a loader setting is followed until it
/// no longer is the bottleneck. nullopt when nothing known limits then, or the decision names
/// nothing.
std::optional<Verdict> SecondVerdict(const Decision& decision, const Variant& now,
                                     const Predictor& predict, const Thresholds& thresholds);

}  // namespace pipesim::diagnose
