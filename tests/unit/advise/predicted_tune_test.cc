// Tuning by predictions alone, against the whole grid of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "predicted.h"

namespace pipesim::advise {
namespace {

spec::Experiment With(spec::Experiment experiment, const Configuration& configuration) {
  experiment.loader.workers = configuration.workers;
  experiment.loader.prefetch_factor = configuration.prefetch_factor;
  experiment.loader.dispatch = configuration.dispatch;
  return experiment;
}

struct Drawn {
  const char* yaml;
  Configuration base;
  int cores;
};
// One of each kind of limit, and some between; 300 steps each.
const Drawn kDrawn[] = {
    {"prepare: {kind: burn, cost: 500us}\nstorage: none\nlimits: {cpus: 4}\n"
     "device: {emulated: {base: 6ms}}\nrun: {steps: 300}\n",
     {.workers = 1}, 4},
    {"prepare: {kind: wait, cost: 1ms}\nstorage: none\nlimits: {cpus: 2}\n"
     "device: {emulated: {base: 6ms}}\nrun: {steps: 300}\n",
     {.workers = 3}, 2},
    {"prepare: none\nstorage: {latency: 2ms, bandwidth: 300MB/s}\nlimits: {cpus: 8}\n"
     "device: {emulated: {base: 10ms}}\nrun: {steps: 300}\n",
     {.workers = 2}, 8},
    {"prepare: {kind: burn, cost: {distribution: lognormal, mean: 400us, stdev: 800us}}\n"
     "storage: none\nlimits: {cpus: 8}\ndevice: {emulated: {base: 5ms}}\nrun: {steps: 300}\n",
     {.workers = 4}, 8},
    {"prepare: {kind: burn, cost: 20us}\nstorage: none\nlimits: {cpus: 8}\n"
     "device: {emulated: {base: 8ms}}\nrun: {steps: 300}\n",
     {.workers = 8, .prefetch_factor = 4}, 8},
    {"prepare: {kind: burn, cost: 100us}\nstorage: {latency: 500us, iops: 3k}\n"
     "limits: {cpus: 4}\ndevice: {emulated: {base: 4ms}}\nrun: {steps: 300}\n",
     {.workers = 1}, 4},
    {"prepare: {kind: wait, cost: {distribution: exponential, mean: 300us}}\n"
     "storage: {latency: {distribution: exponential, mean: 1ms}, queue_depth: 8}\n"
     "limits: {cpus: 6}\ndevice: {emulated: {base: 7ms}}\nrun: {steps: 300}\n",
     {.workers = 2}, 6},
    {"prepare: {kind: burn, cost: 300us}\nstorage: none\nlimits: {cpus: 2}\n"
     "device: {emulated: {base: 30ms}}\nrun: {steps: 300}\n",
     {.workers = 0}, 2},
};

TEST(PredictedTune, IsWithinThreePerCentOfTheGridInAtMostEightRuns) {
  for (const Drawn& drawn : kDrawn) {
    const spec::Experiment experiment = Short(drawn.yaml);
    std::map<Configuration, double> known;
    const auto rate = [&](const Configuration& configuration) {
      const auto found = known.find(configuration);
      if (found != known.end()) return found->second;
      return known[configuration] = RatesOfExperiment(With(experiment, configuration))->samples_per_s;
    };
    const TuneTools tools{
        [&](const Configuration& c) { return RunOutcome{.samples_per_s = rate(c)}; },
        [&](const Configuration& c) { return std::optional(rate(c)); }};
    Configuration base = drawn.base;
    base.batch_size = experiment.loader.batch_size;
    const Tuned tuned =
        Tune(base, {.samples_per_s = rate(base)}, {.cores = drawn.cores}, tools, {.within = 0.02});
    const std::size_t predictions = known.size();
    double grid = 0;
    for (int workers = 0; workers <= 16; ++workers) {
      for (const int prefetch : {1, 2, 4, 8}) {
        for (const auto dispatch : {spec::Dispatch::kRoundRobin, spec::Dispatch::kShared}) {
          Configuration at = base;
          at.workers = workers;
          at.prefetch_factor = prefetch;
          at.dispatch = dispatch;
          if (workers > 0 || prefetch == 1) grid = std::max(grid, rate(at));
        }
      }
    }
    EXPECT_GE(tuned.samples_per_s, 0.97 * grid) << drawn.yaml;
    EXPECT_LE(tuned.steps.size(), 8u) << drawn.yaml;
    EXPECT_LE(predictions, 120u) << drawn.yaml;
  }
}

}  // namespace
}  // namespace pipesim::advise
