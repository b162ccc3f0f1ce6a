// A row of a report's what-ifs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pipesim::tests {

/// The row of this change; null: there is none.
inline nlohmann::json RowOf(const nlohmann::json& report, const std::string& change) {
  for (const nlohmann::json& row : report["diagnosis"]["what_if"])
    if (row["change"] == change) return row;
  return nullptr;
}

}  // namespace pipesim::tests
