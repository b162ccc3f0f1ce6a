#include "predict/effort.h"

#include <cmath>

namespace pipesim::predict {

double SecondsOfStep(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  // Only the order of magnitude counts. tests/bench/virtual_bench on a busy core of an AMD EPYC
  // measured 0.1 us per event and 0.1 us per first draw; the rest is for measuring each run and for
  // steps with more events.
  constexpr double kEvent_s = 0.3e-6, kDraw_s = 0.1e-6;
  const auto batch = static_cast<double>(experiment.loader.batch_size);
  const auto chunk = static_cast<double>(cost::ChunkSamples(experiment, pipeline));
  const cost::Storage& storage = pipeline.storage;
  int draws = 0;
  for (const bool fixed : {pipeline.prepare.cost.IsFixed(), storage.latency.IsFixed(),
                           storage.open_cost.IsFixed(), pipeline.samples.stored.IsFixed()})
    draws += fixed ? 0 : 1;
  return experiment.run.accelerators *
         ((5 + 2 * std::ceil(batch / chunk)) * kEvent_s + draws * batch * kDraw_s);
}

}  // namespace pipesim::predict
