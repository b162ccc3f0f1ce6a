#include "predict/effort.h"

#include <algorithm>
#include <cmath>

#include "cost/sample_cache.h"

namespace pipesim::predict {
namespace {

// Only the order of magnitude counts. tests/bench/virtual_bench on a busy core of an AMD EPYC
// measured 0.1 us per event and 0.1 us per first draw; a cache of 1.28 million samples took 50 ms to
// fill; the rest is for measuring each run, and, as
// long as events are not counted, for steps with more of them.
constexpr double kEvent_s = 0.15e-6, kUncounted_s = 0.3e-6, kDraw_s = 0.1e-6,
                 kFill_s = 0.04e-6;

/// A cache looks up each sample, which costs about as much as a draw.
bool LooksUp(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  return pipeline.storage.HasCache() && !cost::EveryReadHits(experiment, pipeline);
}

/// Drawing what a step's batch costs.
double SecondsOfDraws(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const int each = cost::DrawnCosts(pipeline) + (LooksUp(experiment, pipeline) ? 1 : 0);
  return each * static_cast<double>(experiment.loader.batch_size) * kDraw_s;
}

/// Filling a cache that is warm when the run begins.
double SecondsOfFilling(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const bool warm = LooksUp(experiment, pipeline) && pipeline.storage.cache.warm > 0;
  return warm ? static_cast<double>(experiment.dataset.samples) * kFill_s : 0;
}

}  // namespace

double SecondsOfStep(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const auto batch = static_cast<double>(experiment.loader.batch_size);
  const auto chunk = static_cast<double>(cost::ChunkSamples(experiment, pipeline));
  return experiment.run.accelerators *
         ((5 + 2 * std::ceil(batch / chunk)) * kUncounted_s + SecondsOfDraws(experiment, pipeline));
}

double SecondsOfRun(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                    std::int64_t steps, std::int64_t events) {
  return SecondsOfFilling(experiment, pipeline) + static_cast<double>(events) * kEvent_s +
         experiment.run.accelerators * static_cast<double>(steps) *
             SecondsOfDraws(experiment, pipeline);
}

std::int64_t FewestSteps(const spec::Loader& loader) {
  return loader.Window() + 3 * std::int64_t{loader.workers} + 2;
}

std::int64_t FewestOfLongEpoch(const spec::Loader& loader) { return 200 * FewestSteps(loader); }

base::Duration LeastDuration(const spec::Experiment& experiment, double most_per_s) {
  // The last batch of an epoch may be small, and drawn costs below their mean.
  constexpr double kRatherTooShort = 0.5, kLongest_s = 1e8;
  const auto steps = static_cast<double>(experiment.run.steps.value_or(0));
  const double samples = steps * experiment.run.accelerators *
                         static_cast<double>(experiment.loader.batch_size);
  if (!(most_per_s > 0)) return {};
  return base::FromSeconds(std::min(kLongest_s, kRatherTooShort * samples / most_per_s));
}

}  // namespace pipesim::predict
