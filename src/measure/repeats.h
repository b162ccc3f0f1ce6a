// Several runs of one experiment, summed up by the one of median throughput.
#pragma once

#include <cstddef>
#include <vector>

#include "measure/measurement.h"

namespace pipesim::measure {

/// It has a rate, and was neither interrupted nor failed.
bool Finished(const Result& result);

struct Repeats {
  std::size_t median = 0;  ///< which run has the median throughput
  Result result;           ///< that run's, with the interval over all runs
  std::vector<Result> slowest_first;
};
/// `results`: of two or more finished runs.
Repeats SumUp(const std::vector<Result>& results);

}  // namespace pipesim::measure
