// "How many workers do I need?"
#pragma once

#include "diagnose/question.h"

namespace pipesim::diagnose {

/// The smallest worker count, 0 included, whose prediction reaches thresholds.enough_share of the
/// best over 0 … MostWorkers. nullopt when nothing was predicted.
std::optional<EnoughWorkers> FindEnoughWorkers(const Question& question);

}  // namespace pipesim::diagnose
