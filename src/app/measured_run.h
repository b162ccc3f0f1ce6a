// A kept report as the basis of a prediction. Reads the document; predicts nothing.
#pragma once

#include <string>

#include "predict/basis.h"
#include "report/report.h"

namespace pipesim::app {

/// Throws base::EnvironmentError when the file is no report of a run, or lacks its experiment.
predict::MeasuredRun ReadMeasuredRun(const std::string& file);

/// The same of a report that is at hand; `source` is its name.
predict::MeasuredRun MeasuredRunOf(const report::Document& document, const std::string& source);

}  // namespace pipesim::app
