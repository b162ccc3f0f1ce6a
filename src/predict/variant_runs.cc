#include "predict/variant_runs.h"

#include <bit>
#include <utility>

#include "base/random.h"
#include "measure/rates.h"
#include "measure/window.h"
#include "predict/effort.h"

namespace pipesim::predict {

VariantResult ResultOf(const VariantRun& run, const trace::RunTrace& trace) {
  VariantResult result{.steps = trace.steps};
  if (trace.progress.empty()) return result;
  const auto begun = measure::FirstMarkFrom(trace.progress, run.start);
  if (begun != trace.progress.end()) {
    result.start_steps = begun->steps;
    result.start_took = begun->at - trace.begin;
  }
  const auto window = measure::SteadyWindow(trace, run.experiment, run.start, run.period);
  if (!window) return result;
  result.samples_per_s = measure::SamplesPerSecondOfAll(trace, *window);
  if (cost::DrawnCosts(run.pipeline) == 0) return result;
  if (const auto interval = measure::RateInterval(trace, *window, run.experiment))
    result.half_width = (interval->high - interval->low) / 2 / measure::SamplesPerSecond(*window);
  return result;
}

std::size_t VariantRuns::Hash::operator()(const VariantRun& run) const {
  const spec::Loader& loader = run.experiment.loader;
  std::uint64_t hash = std::bit_cast<std::uint64_t>(run.bound_per_s);
  for (const std::int64_t part :
       {run.experiment.run.steps.value_or(0), std::int64_t{loader.workers},
        std::int64_t{loader.prefetch_factor}})
    hash = base::Mix64(hash + static_cast<std::uint64_t>(part));
  return hash;
}

std::optional<VariantResult> VariantRuns::Find(const VariantRun& run) {
  const std::lock_guard lock(mutex_);
  if (const auto found = now_.find(run); found != now_.end()) return found->second;
  auto found = before_.extract(run);
  if (!found) return std::nullopt;
  const VariantResult result = found.mapped();
  now_.insert(std::move(found));
  return result;
}

void VariantRuns::Keep(VariantRun run, const VariantResult& result) {
  const std::lock_guard lock(mutex_);
  if (now_.size() >= most_) before_ = std::exchange(now_, {});
  now_.emplace(std::move(run), result);
}

}  // namespace pipesim::predict
