// The answer of a sweep: the best point, the smallest settings that are enough, which points are
// worth having, and how predictions and runs agree. Pure functions of the results.
#pragma once

#include <optional>
#include <vector>

#include "spec/sweep.h"
#include "sweep/outcome.h"

namespace pipesim::sweep {

/// Rates nearer than this are equal when points are compared: a run's noise (run.max_noise).
inline constexpr double kEqualRates = 0.02;

/// The fewest workers and held batches that nearly reach the best rate.
struct Enough {
  std::optional<std::size_t> point;  ///< nullopt: between the points, as the diagnosis predicts
  std::int64_t workers = 0, prefetch_factor = 0;  ///< prefetch 0: as at the best point
  double share = 0;                               ///< of the best rate
};

struct PredictionError {
  std::size_t compared = 0, verdicts_agree = 0;
  double mean = 0, worst = 0;  ///< of |predicted / measured - 1|
};

/// From one value of an axis to the next, everything else as at the best point.
struct AxisStep {
  std::size_t axis = 0, from = 0;  ///< position on the axis
  double gain = 0;
};

struct Analysis {
  std::optional<std::size_t> best;  ///< index into the results, likewise below; nullopt: none is ok
  std::vector<bool> pareto;         ///< one for each result
  std::optional<Enough> enough;
  std::vector<AxisStep> steps;
  std::optional<PredictionError> error;
};

/// predicted / measured - 1; nullopt unless both are there.
std::optional<double> PredictionErrorOf(const PointResult& result);

/// `results` in ascending order of points, some may be missing.
Analysis Analyse(const spec::Sweep& sweep, const std::vector<PointResult>& results);

}  // namespace pipesim::sweep
