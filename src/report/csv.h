// The report as a table for notebooks and spreadsheets (docs/exports.md).
#pragma once

#include <string>

#include "report/report.h"

namespace pipesim::report {

/// Of a run (one row, or one a repeat), a sweep (one row a point), `tune` (one a run) or `size`
/// (one a value). Never throws; what is missing is empty.
std::string RenderCsv(const Document& report);

}  // namespace pipesim::report
