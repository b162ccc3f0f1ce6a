// The best two changes together: what limits next is eased as well.
#pragma once

#include <vector>

#include "diagnose/levers.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose {

/// Of all pairs of `levers` that can be made: the one of the highest predicted rate, of equal ones the cheapest; one
/// with a flag in it if any such pair counts. Where it takes more than flags, also the best of flags. None that does
/// not beat each lever, or each flag, alone by a gain that counts. `rows`: the predicted levers.
std::vector<Lever> BestPairs(const Question& question, const std::vector<Lever>& levers,
                             const std::vector<WhatIf>& rows);

}  // namespace pipesim::diagnose
