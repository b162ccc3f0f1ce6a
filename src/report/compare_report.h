// The report of `pipesim compare`: sides read from documents, one JSON document of kind `compare`
// (docs/schema/compare.schema.json), and its text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "report/report.h"

namespace pipesim::report {

/// A side from the report of a run, a prediction or a sweep. `name` is its file as typed. Throws
/// base::EnvironmentError, naming it, for another kind, or where nothing finished.
compare::Side SideOf(const Document& document, const std::string& name);

/// How runs in turn went.
struct Interleaving {
  /// Each is a run of every side, summed over the points that ran.
  std::size_t rounds_asked = 0, rounds_done = 0;
};

struct CompareReport {
  Context context;
  std::vector<compare::Side> sides;
  std::vector<compare::Comparison> comparisons;  ///< each other side against the first
  compare::Rules rules;
  std::optional<Interleaving> interleaving;  ///< nullopt: nothing was run
  bool interrupted = false;
  std::vector<std::string> failures;  ///< of runs in turn
  std::string next_text;
  std::vector<std::string> next_argv;
};

/// Valid against the schema.
Document ToJson(const CompareReport& report);

/// The text of a document of kind `compare`.
std::string CompareText(const Document& document, const TextOptions& options);

}  // namespace pipesim::report
