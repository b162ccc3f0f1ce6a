// The report of `pipesim devices`: one JSON document of kind `devices`
// (docs/schema/devices.schema.json), and its text.
#pragma once

#include <optional>
#include <string>

#include "report/report.h"
#include "spec/inventory.h"

namespace pipesim::report {

struct DevicesReport {
  Context context;
  spec::Inventory inventory;
  std::optional<spec::DeviceId> asked;  ///< `pipesim devices cuda:3`
};

/// Valid against the schema.
Document ToJson(const DevicesReport& report);

/// The text of a document of kind `devices`.
std::string DevicesText(const Document& document, const TextOptions& options);

}  // namespace pipesim::report
