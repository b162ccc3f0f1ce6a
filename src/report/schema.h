// Checks documents against docs/schema/*.schema.json, which are part of the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/report.h"

namespace pipesim::report {

/// There is a schema for documents of this kind.
bool HasSchema(std::string_view kind);

/// The first thing in `document` that the schema of its kind does not allow, as "PATH: VALUE: why";
/// nullopt if it fits. The kind must have a schema.
std::optional<std::string> Misfit(const Document& document, std::string_view kind);

}  // namespace pipesim::report
