// Several runs of one experiment as one report.
#pragma once

#include <vector>

#include "report/report.h"

namespace pipesim::app {

/// Of finished runs, the report with the median throughput, with the interval over all runs and
/// each repeat's result. A single run is returned unchanged. `runs` must not be empty.
report::RunReport MedianOf(std::vector<report::RunReport> runs);

}  // namespace pipesim::app
