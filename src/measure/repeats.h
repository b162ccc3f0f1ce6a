// Several runs of one experiment, summed up by the one of median throughput.
#pragma once

#include <vector>

#include "measure/measurement.h"

namespace pipesim::measure {

/// It has a rate, and was neither interrupted nor failed.
bool Finished(const Result& result);

/// Sorts two or more finished results by rate and returns the median, its interval over them all.
Result MedianOf(std::vector<Result>& results);

}  // namespace pipesim::measure
