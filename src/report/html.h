// A report as one page for a browser.
#pragma once

#include <string>

#include "report/report.h"

namespace pipesim::report {

/// One self-contained page for a document of any kind: no script, nothing loaded, and a policy in
/// its head that forbids both. Missing values and values of the wrong type are n/a; never throws.
std::string RenderHtml(const Document& document);

}  // namespace pipesim::report
