#include "measure/probes.h"

#include "measure/paired_gain.h"

namespace pipesim::measure {
namespace {

struct BlockSum {
  base::Duration time{};
  std::int64_t samples = 0;

  void Add(const trace::ProbeBlock& block) {
    time += block.time;
    samples += block.samples;
  }
  double PerSecond() const { return static_cast<double>(samples) / base::ToSeconds(time); }
};

double BlockRate(const trace::ProbeBlock& block) {
  return static_cast<double>(block.samples) / base::ToSeconds(block.time);
}

}  // namespace

std::vector<Tried> TriedIn(const trace::Probes& probes) {
  std::vector<Tried> all;
  for (const trace::Probe& probe : probes.each) {
    BlockSum as_it_was, changed;
    std::vector<RatePair> rates;
    for (const trace::ProbePair& pair : probe.pairs) {
      as_it_was.Add(pair.base);
      changed.Add(pair.changed);
      rates.push_back({BlockRate(pair.base), BlockRate(pair.changed)});
    }
    const auto gain = GainOf(rates, "probes");
    if (!gain || !gain->interval) continue;
    all.push_back({.kind = probe.kind,
                   .change = probe.change,
                   .base_samples_per_s = as_it_was.PerSecond(),
                   .samples_per_s = changed.PerSecond(),
                   .gain = gain->gain,
                   .gain_interval = *gain->interval});
  }
  return all;
}

}  // namespace pipesim::measure
