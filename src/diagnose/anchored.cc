#include "diagnose/anchored.h"

#include <cmath>

#include "diagnose/shared_cores.h"

namespace pipesim::diagnose {
namespace {

bool IsPool(const Variant& v) {
  const bool steps = v.pipeline.step.Mean(v.settings.loader.batch_size).count() > 0;
  return v.on_cpu() && v.ComputeThreads() > 1 && steps;
}

/// The same threads train, on cores that they share with the same other programs. Where those hardly
/// run, the error is not theirs, and stays without them.
bool KeepsPool(const Variant& now, const Variant& v) {
  const cost::Machine &before = now.pipeline.machine, &after = v.pipeline.machine;
  const bool same_others =
      after.others == before.others || !(SharesCores(before) || SharesCores(after));
  return IsPool(v) && v.ComputeThreads() == now.ComputeThreads() &&
         v.settings.limits.omp_wait == now.settings.limits.omp_wait &&
         same_others && after.cores == before.cores &&
         after.processors == before.processors;
}

}  // namespace

Predictor Anchored(const Predictor& predict, const Variant& now, std::optional<double> measured) {
  if (!measured || !(*measured > 0) || !IsPool(now)) return predict;
  const double predicted = predict(now);
  if (!std::isfinite(predicted) || !(predicted > 0)) return predict;
  const double kept = *measured / predicted;
  return [predict, now, kept](const Variant& v) {
    return KeepsPool(now, v) ? kept * predict(v) : predict(v);
  };
}

}  // namespace pipesim::diagnose
