// What tests ask of a run's probes.
#pragma once

#include "base/clock.h"
#include "trace/probes.h"

namespace pipesim::engine {

inline double GainOf(const trace::ProbePair& pair) {
  const auto rate = [](const trace::ProbeBlock& block) {
    return static_cast<double>(block.samples) / base::ToSeconds(block.time);
  };
  return rate(pair.changed) / rate(pair.base) - 1;
}

inline const trace::Probe* Find(const trace::Probes& probes, trace::ProbeKind kind) {
  for (const trace::Probe& probe : probes.each)
    if (probe.kind == kind) return &probe;
  return nullptr;
}

}  // namespace pipesim::engine
