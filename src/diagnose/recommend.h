// The smallest change that gets the verdict's gain: settings where they can do it, else what to do.
#pragma once

#include <string>

#include "diagnose/decide.h"
#include "diagnose/doubt.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

Recommendation Recommend(Verdict verdict, const Question& question, const Decision& decision,
                         const Doubt& doubt, const std::vector<WhatIf>& what_if);

/// The loader of the experiment as PyTorch's constructor call: what differs from PyTorch's
/// defaults. Of several accelerators: that of each rank.
std::string DataLoaderText(const spec::Loader& loader, int accelerators = 1);

/// Steps of a run, warm-up included, that would bring the interval to thresholds.rank_interval and
/// reach min_steps: n × (half-width / 5 %)², rounded up to two digits.
std::int64_t StepsToSettle(const Question& question);

}  // namespace pipesim::diagnose
