// Parts of the verdicts' remedies: a row of the what-if table, a setting, and the same settings in
// PyTorch. A recommendation has the rate and the gain of exactly its own settings.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/findings.h"

namespace pipesim::diagnose {

/// `text` with the settings and the gain of the row `change`; without such a row, `text` alone.
Recommendation FromRow(std::string text, const Findings& findings, std::string_view change);

/// `text` and the smallest sufficient row of those that ease `demand`: the cheapest that comes
/// within Thresholds::enough_share of the best of them; with a second one where the best pair
/// has both and that one takes only a flag. Where none of them can be made, the best to be bought or
/// written, then the upper bound. Without any such row, `text` alone.
Recommendation FromBest(std::string text, const Findings& findings, Demand demand);

/// `text` with the setting that the decision names; without one, `text` alone.
Recommendation FromSetting(std::string text, const Findings& findings);
/// The same, or the two settings of the loader and the trainer's threads that flags make, the decision's key among
/// them, where these gain more together. `text` goes before the change.
Recommendation FromDecided(const std::string& text, const Findings& findings);

/// A flag before another device: where `recommended` names no change, or a device to buy, and a flag gains enough to
/// count, that flag, and the rest after it.
Recommendation WithFlagFirst(Recommendation recommended, const Findings& findings);

/// A setting that gains little where another change, which no flag makes, gains far more: names that one, too.
Recommendation NamingTheRest(Recommendation recommended, const Findings& findings);

/// The row of the best pair; nullopt when there is none.
std::optional<std::size_t> PairRow(const std::vector<WhatIf>& rows);

/// The loader of the experiment as PyTorch's constructor call: what differs from PyTorch's
/// defaults. With several accelerators: that of each rank. A comment names what PyTorch lacks of it.
std::string DataLoaderText(const spec::Loader& loader, int accelerators = 1);

}  // namespace pipesim::diagnose
