// The report as TensorBoard event files (docs/exports.md).
#pragma once

#include <vector>

#include "report/report.h"

namespace pipesim::report {

/// What the names of event files end with: no other program's do.
inline constexpr std::string_view kEventFileEnd = ".pipesim";

/// Of a run: one file. Of a sweep: a folder with a file for each series over its first axis of
/// whole numbers. Never throws.
std::vector<ExportedFile> RenderTensorBoard(const Document& report);

}  // namespace pipesim::report
