// The bounds of diagnose/bounds.cc beside the virtual engine: no pipeline of constant costs is faster.
#include "diagnose/variant.h"
#include "unit/virtual_time/any_case.h"

namespace pipesim::engine {
namespace {

/// A case whose costs the bounds know: without a cache, which serves what storage does not, without copies to a CPU,
/// and without Python's work on samples that several threads of a worker prepare.
Case AnyBoundedCase() {
  Case any = AnyCase();
  any.experiment.storage.cache = any.pipeline.storage.cache = {};
  if (any.experiment.device.kind == spec::DeviceKind::kCpu) any.pipeline.transfer = {};
  if (any.experiment.limits.worker_threads > 1) any.pipeline.prepare.python = {};
  return any;
}

RC_GTEST_PROP(Bounds, AreExceededByNoPipelineOfConstantCosts, ()) {
  const auto [experiment, pipeline] = AnyBoundedCase();
  RC_PRE(spec::BatchesPerEpoch(experiment) > 0);
  const trace::RunTrace trace = Predict(experiment, pipeline);
  constexpr std::int64_t kLeast = 300;  // steps: whether the last result was read back counts little
  RC_PRE(trace.steps >= kLeast);
  const double most_per_s = diagnose::PredictByBounds(diagnose::VariantOf(experiment, pipeline));
  const trace::Checkpoint& last = trace.progress.back();
  const double per_s = static_cast<double>(last.samples) / base::ToSeconds(last.at - trace.begin);
  RC_LOG() << per_s << " samples/s, at most " << most_per_s << "\n";
  RC_ASSERT(per_s <= 1.01 * most_per_s);
}

}  // namespace
}  // namespace pipesim::engine
