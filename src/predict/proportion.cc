#include "predict/proportion.h"

#include <algorithm>
#include <cmath>

#include "cost/rates.h"
#include "cost/sample_cache.h"
#include "predict/effort.h"

namespace pipesim::predict {
namespace {

/// The first is warm-up; ten make an interval of their own. Accelerators that never meet drift apart, and then read what
/// others have just read.
std::int64_t EpochsOf(const spec::Run& run) { return run.accelerators > 1 ? 3 : 12; }

/// Steps of an epoch: six times those of a start, less where that takes too long, but not less than two.
std::int64_t StepsOf(const spec::Experiment& experiment, const cost::Pipeline& pipeline, double longest_s) {
  constexpr std::int64_t kFewest = 2, kWanted = 6;
  const double affordable =
      longest_s / SecondsOfStep(experiment, pipeline) / static_cast<double>(EpochsOf(experiment.run));
  const std::int64_t start = FewestSteps(experiment.loader);
  return std::clamp(static_cast<std::int64_t>(affordable), kFewest * start, kWanted * start);
}

}  // namespace

void ShortenEpochs(spec::Experiment& experiment, Resolved& resolved, double longest_s) {
  spec::Run& run = experiment.run;
  cost::Pipeline& pipeline = resolved.pipeline;
  if (run.duration || run.steps || run.epochs || run.barrier) return;
  const bool serves_some = pipeline.storage.HasCache() && pipeline.storage.cache.warm > 0 &&
                           !cost::EveryReadHits(experiment, pipeline);
  if (!serves_some) return;
  const std::int64_t epoch = spec::BatchesPerEpoch(experiment), shorter = StepsOf(experiment, pipeline, longest_s);
  if (epoch <= shorter) return;
  const double share = static_cast<double>(shorter) / static_cast<double>(epoch);
  const auto part = [&](std::int64_t whole) { return std::llround(share * static_cast<double>(whole)); };
  experiment.dataset.samples = part(experiment.dataset.samples);
  for (spec::Cache* cache : {&experiment.storage.cache, &pipeline.storage.cache})
    cache->size.count = part(cache->size.count);
  cost::Scale(pipeline.hand_over.launch, share);
  pipeline.hand_over.startup = pipeline.hand_over.startup.Scaled(share);
  run.epochs = EpochsOf(run);
  resolved.notes.shortened = {.steps = epoch, .simulated = spec::BatchesPerEpoch(experiment)};
}

}  // namespace pipesim::predict
