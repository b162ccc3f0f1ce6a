// The report of `pipesim bench`: one JSON document of kind `bench` (docs/schema/bench.schema.json),
// its text, and what its other views share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/bench.h"
#include "report/report.h"
#include "report/view.h"

namespace pipesim::report {

/// What a device can do at most.
struct BenchPeak {
  std::string from;  ///< "preset h200"
  std::optional<double> flops_per_s, bytes_per_s, link_bytes_per_s;
};

struct BenchReport {
  Context context;
  calibrate::BenchPlan plan;
  calibrate::BenchResult result;
  std::string cpu_name, gpu_name;  ///< gpu_name empty: no GPU half
  double cores = 0;                ///< allowed ones
  std::optional<double> foreign_cores;  ///< of them, used by other programs meanwhile
  BenchPeak peak;                  ///< of the GPU
};

/// Valid against the schema.
Document ToJson(const BenchReport& report);

/// The text of a document of kind `bench`.
std::string BenchText(const Document& document, const TextOptions& options);

/// "The GPU is faster from size 501 on, 387 x at 1,001. …"
std::string BenchHeadline(View document);
/// What timing only the enqueue would show; empty where it would show the truth.
std::string BenchTrap(View document);

/// What makes the times doubtful: other programs, repeats that differ. A sentence each.
std::vector<std::string> BenchDoubts(View document);

/// A row for each size; the cells are as wide as they need be.
struct BenchTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  std::string note;  ///< what marks in its cells, and shares above 100 %, mean; empty without them
};
BenchTable TableOfBench(View document);

/// "501", "4 KiB": a size in the bench's unit.
std::string BenchSize(View document, double size);

}  // namespace pipesim::report
