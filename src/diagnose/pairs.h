// The best two changes together: what limits next is eased as well.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/levers.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose {

/// Of all pairs of `levers` that can be made: the one of the highest predicted rate, of equal ones
/// the cheapest; one with a flag in it if any such pair counts. nullopt if no pair beats each lever alone by a gain that counts. `rows`: the
/// predicted levers.
std::optional<Lever> BestPair(const Question& question, const std::vector<Lever>& levers,
                              const std::vector<WhatIf>& rows);

}  // namespace pipesim::diagnose
