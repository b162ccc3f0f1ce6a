// The report of `pipesim memory`: one JSON document of kind `memory` (docs/schema/memory.schema.json),
// and its text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cost/memory_plan.h"
#include "report/report.h"

namespace pipesim::report {

struct MemoryReport {
  Context context;
  spec::Experiment experiment;         ///< as asked; of a product only its device counts
  std::optional<std::int64_t> matmul;  ///< the size of a product; nullopt: a training step
  std::string device;                  ///< "cuda:0", "tesla-m4"
  std::string device_name;             ///< "NVIDIA H200"; empty: unknown
  Reality reality = Reality::kReal;    ///< kPredicted: a preset
  cost::MemoryPlan plan;
  base::Bytes memory, free;
  std::int64_t largest = 0;  ///< batch or size that fits; 0: none

  bool Fits() const { return plan.Total() <= static_cast<double>(free.count); }
};

/// Valid against the schema.
Document ToJson(const MemoryReport& report);

/// The text of a document of kind `memory`.
std::string MemoryText(const Document& document, const TextOptions& options);

}  // namespace pipesim::report
