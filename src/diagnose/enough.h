// "How many workers do I need?"
#pragma once

#include <optional>
#include <vector>

#include "diagnose/question.h"

namespace pipesim::diagnose {

struct WorkerCount {
  int workers = 0;
  double samples_per_s = 0;
  double share_of_best = 1;
};

/// Counts of workers from `fewest` to `most`, ascending, both included: one by one up to 16, from
/// there by an eighth, which is about what one worker more or less means to so many.
std::vector<int> CountsToTry(int fewest, int most);

/// The smallest count in [fewest, most] that is predicted to reach `share` of the best one. Bounds
/// leave out those of CountsToTry that cannot reach it; of the others, to the first that is enough,
/// rates are taken to grow, so that it is found by steps that double and by bisection. Where none comes near its
/// bound, rates are taken to have one peak. nullopt when nothing in the pipeline limits or runs.
std::optional<WorkerCount> FewestWorkers(const Variant& now, int fewest, int most,
                                         const Predictor& predict, double share);

/// The first of `counts`, which ascend or descend, that reaches `share` of the best one; found in the same way.
std::optional<WorkerCount> FirstNearBest(const Variant& now, const std::vector<int>& counts, const Predictor& predict,
                                         double share);

/// Over 0 to MostWorkers, and to twice as many again while these gain (up to MostThatFit), with PyTorch's prefetch
/// factor, twice it, and the run's own: the pair that reaches Thresholds::enough_share of the best rate
/// (enough_share_beside_training where the trainer has all cores) with the fewest batches in memory. nullopt when
/// nothing was predicted.
std::optional<EnoughWorkers> FindEnoughWorkers(const Question& question);
/// What there is suffices.
EnoughWorkers EnoughAsItIs(const Question& question);

}  // namespace pipesim::diagnose
