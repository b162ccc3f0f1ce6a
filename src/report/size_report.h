// The report of `pipesim size`: one JSON document of kind `size` (docs/schema/size.schema.json), and
// its text.
#pragma once

#include <string>
#include <vector>

#include "advise/axis.h"
#include "report/report.h"

namespace pipesim::report {

struct SizeReport {
  Context context;
  spec::Experiment experiment;  ///< as asked
  predict::Notes prediction;
  std::string target;  ///< as typed: "au>=0.9"
  const advise::Axis* axis = nullptr;
  advise::SizeQuestion question;
  advise::SizeTry present;  ///< the axis as the experiment has it
  advise::SizeAnswer found;
  diagnose::Diagnosis diagnosis;  ///< at the answer; where there is none, at found.ample
  /// With an answer: predicts it. Without: asks again with what the diagnosis recommends. May be
  /// empty.
  std::vector<std::string> next_argv;
};

/// Valid against the schema.
Document ToJson(const SizeReport& report);

/// The text of a document of kind `size`.
std::string SizeText(const Document& document, const TextOptions& options);

}  // namespace pipesim::report
