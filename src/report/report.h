// The report: one JSON document (docs/schema/run.schema.json), and every other format a view of that
// document, so that a kept report renders as the run itself did. Knows no engine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnosis.h"
#include "measure/measurement.h"
#include "spec/experiment.h"

namespace pipesim::report {

/// What is neither measured nor asked for; outside every identity and hash.
struct Context {
  std::string version, commit, build;          ///< of pipesim
  std::string date;                            ///< ISO 8601, UTC
  std::string host, cpu, os;
  double load_average_1min = 0;
  std::vector<std::string> argv;               ///< as typed, without the program's name
  std::string libtorch_version;                ///< empty when not loaded
};

enum class Reality { kReal, kEmulated, kPredicted };

/// One finished run with everything said about it.
struct RunReport {
  Context context;
  spec::Experiment experiment;
  Reality storage = Reality::kEmulated, prepare = Reality::kReal, device = Reality::kReal,
          engine = Reality::kReal;
  measure::Measurement measurement;
  diagnose::Diagnosis diagnosis;
};

/// The document; validates against the schema.
nlohmann::json ToJson(const RunReport& report);

enum class Detail { kBrief, kNormal, kFull };
struct TextOptions {
  Detail detail = Detail::kNormal;
  bool colour = false;
  bool utf8 = true;
};
/// Text of a document of kind `run` (report-examples in docs/): verdict first, 80 columns.
std::string ToText(const nlohmann::json& report, const TextOptions& options);

/// One export format. The catalogue is explicit.
struct Exporter {
  std::string_view name;  ///< "json"
  std::string_view help;
  std::string (*render)(const nlohmann::json& report);
};
std::span<const Exporter> Exporters();

}  // namespace pipesim::report
