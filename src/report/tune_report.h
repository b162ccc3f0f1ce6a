// The report of `pipesim tune`: one JSON document of kind `tune` (docs/schema/tune.schema.json), and
// its text.
#pragma once

#include <string>
#include <vector>

#include "advise/tune.h"
#include "report/report.h"

namespace pipesim::report {

struct TuneReport {
  Context context;
  spec::Experiment experiment;  ///< as asked
  Reality engine = Reality::kReal;
  advise::TuneRules rules;
  advise::Configuration base;
  advise::Tuned tuned;
  // Of the tuned configuration; empty when nothing ran:
  std::vector<std::pair<std::string, std::string>> set;  ///< what differs from the experiment
  std::int64_t held_bytes = 0;  ///< of finished batches, at most
  std::string pytorch;          ///< DataLoader(...)
  std::string yaml;             ///< the tuned experiment
  std::string file;             ///< where it was written; empty: nowhere
  std::vector<std::string> next_argv;
};

/// Valid against the schema.
Document ToJson(const TuneReport& report);

/// The text of a document of kind `tune`.
std::string TuneText(const Document& document, const TextOptions& options);

}  // namespace pipesim::report
