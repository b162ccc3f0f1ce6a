// Parts of the verdicts' remedies: a row of the what-if table, a setting, and the same settings in
// PyTorch.
#pragma once

#include <string>
#include <string_view>

#include "diagnose/findings.h"

namespace pipesim::diagnose {

/// `text` with the settings and the gain of the row `change`; without such a row, `text` alone.
Recommendation FromRow(std::string text, const std::vector<WhatIf>& rows, std::string_view change);

/// `text` with the setting that the decision names; without one, `text` alone.
Recommendation FromSetting(std::string text, const Findings& findings);

/// The loader of the experiment as PyTorch's constructor call: what differs from PyTorch's
/// defaults. With several accelerators: that of each rank.
std::string DataLoaderText(const spec::Loader& loader, int accelerators = 1);

}  // namespace pipesim::diagnose
