// The birth-death chain of a closed pipeline: `dispatch: shared`, `in_order: false`, batches of one
// sample, every result read back, one exponential worker stage (mean s) and an exponential step
// (mean g), no pin stage and no transfer.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "pipeline.h"

namespace pipesim::engine {

struct Chain {
  int workers, prefetch;
  double s_over_g;
};

/// Steps per step time: 1 - p0. States n = 0 … K + 1 + W of batches made and not yet trained on,
/// K = (prefetch - 1) W: born at (W - max(0, n - K - 1)) / s, gone at 1 / g.
inline double Utilization(const Chain& chain) {
  const int k = (chain.prefetch - 1) * chain.workers;
  double weight = 1, sum = 1;
  for (int n = 0; n < k + 1 + chain.workers; ++n) {
    weight *= (chain.workers - std::max(0, n - k - 1)) / chain.s_over_g;
    sum += weight;
  }
  return 1 - 1 / sum;
}

struct Found {
  double utilization = 0, standard_error = 0;
};

/// The engine's result, with the standard error of 32 batch means.
inline Found Simulated(const Chain& chain, std::int64_t steps) {
  const Duration g = 1ms;
  auto experiment = Stages(chain.workers, 0s, 0s, steps);
  experiment.prepare.cost = Exponential(base::FromSeconds(chain.s_over_g * base::ToSeconds(g)));
  experiment.device.step_base = Exponential(g);
  experiment.dataset.samples = steps;  // costs are the same every epoch: one epoch
  experiment.loader.shuffle = false;
  experiment.loader.prefetch_factor = chain.prefetch;
  experiment.loader.dispatch = spec::Dispatch::kShared;
  experiment.loader.in_order = false;
  experiment.training.sync_every = 1;
  const trace::RunTrace trace = Predict(experiment);
  constexpr std::size_t kGroups = 32;
  const std::size_t size = (trace.progress.size() - 1) / kGroups;
  const std::size_t first = trace.progress.size() - 1 - kGroups * size;
  std::vector<double> means;
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto& from = trace.progress[first + group * size];
    const auto& to = trace.progress[first + (group + 1) * size];
    means.push_back(static_cast<double>(to.steps - from.steps) * base::ToSeconds(g) /
                    base::ToSeconds(to.at - from.at));
  }
  double mean = 0, squares = 0;
  for (const double each : means) mean += each / kGroups;
  for (const double each : means) squares += (each - mean) * (each - mean);
  return {mean, std::sqrt(squares / (kGroups - 1) / kGroups)};
}

inline constexpr Chain kChains[] = {{1, 1, 1}, {1, 2, 1}, {1, 4, 0.5}, {2, 1, 2},  {2, 2, 2},
                                    {2, 4, 1}, {4, 1, 4}, {4, 2, 4},   {4, 2, 8},  {4, 4, 3},
                                    {8, 1, 8}, {8, 2, 6}, {8, 2, 16},  {16, 2, 16}};

}  // namespace pipesim::engine
