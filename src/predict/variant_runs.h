// The runs of what-ifs. The points of a sweep mostly differ in settings that what-ifs change, so that
// many ask for the same runs: these are made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/units.h"
#include "cost/pipeline.h"
#include "spec/experiment.h"
#include "trace/run_trace.h"

namespace pipesim::predict {

/// A run of `experiment.run.steps` steps, and the part of it that its rate is taken from.
struct VariantRun {
  spec::Experiment experiment;
  cost::Pipeline pipeline;
  double bound_per_s = 0;   ///< samples/s of all accelerators that it cannot exceed
  std::int64_t start = 0;   ///< steps to leave out
  std::int64_t period = 1;  ///< steps: whole ones count

  bool operator==(const VariantRun&) const = default;
};

/// What a predictor takes from the run's trace.
struct VariantResult {
  std::int64_t steps = 0;               ///< of the first accelerator
  std::int64_t events = 0;              ///< that were simulated for it
  double samples_per_s = 0;             ///< of all accelerators; 0: not one period after the start
  /// Of the 95 % interval, over the rate, where costs are drawn; nullopt: unknown, or they are not.
  std::optional<double> half_width;
  /// The first mark from `start` on; 0: there is none.
  std::int64_t start_steps = 0;
  base::Duration start_took{};  ///< until then
};

VariantResult ResultOf(const VariantRun& run, const trace::RunTrace& trace);

/// Results by their runs, a bounded number of them. Thread-safe. A result is the same whoever made
/// it, so what is found here changes no prediction.
class VariantRuns {
 public:
  /// `most`: results that are kept at a time, and as many that were kept before.
  explicit VariantRuns(std::size_t most = 2'048) : most_(most) {}
  std::optional<VariantResult> Find(const VariantRun& run);
  void Keep(VariantRun run, const VariantResult& result);

 private:
  struct Hash {
    std::size_t operator()(const VariantRun& run) const;
  };
  using Results = std::unordered_map<VariantRun, VariantResult, Hash>;

  std::size_t most_;
  std::mutex mutex_;
  Results now_, before_;  ///< when `now_` is full, it takes the place of `before_`
};

}  // namespace pipesim::predict
