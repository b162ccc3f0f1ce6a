// Several runs of one experiment as one report.
#pragma once

#include <vector>

#include "report/report.h"

namespace pipesim::app {

/// The report of median throughput of runs that all finished, its interval taken over them, with
/// every repeat's own result. One alone is returned as it is. `runs` must not be empty.
report::RunReport MedianOf(std::vector<report::RunReport> runs);

}  // namespace pipesim::app
