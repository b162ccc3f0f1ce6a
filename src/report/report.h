// The report: one JSON document (docs/schema/run.schema.json), and every other format a view of
// that document, so that a kept report renders as the run itself did. Knows no engine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnosis.h"
#include "measure/measurement.h"
#include "spec/experiment.h"

namespace pipesim::report {

inline constexpr int kSchemaVersion = 1;

/// A report as JSON; its keys keep the order in which docs/report.md lists them.
using Document = nlohmann::ordered_json;

/// Circumstances of the run: neither measured nor asked for, and outside every identity and hash.
struct Context {
  std::string version, commit, build;  ///< of pipesim
  std::string date;                    ///< ISO 8601, UTC
  std::string host, cpu, os;
  double load_average_1min = 0;
  std::vector<std::string> argv;  ///< as typed, without the program's name
  std::string libtorch_version;   ///< empty when not loaded
};

enum class Reality { kReal, kEmulated, kPredicted };

/// The source of a step's cost where nothing is trained.
enum class StepCost {
  kStated,    ///< by the experiment
  kRoofline,  ///< estimated from the model's layers and a device's figures
  kTable,     ///< measured steps of a machine profile
  kMeasured,  ///< the step of the run that the prediction starts from
};

/// What a prediction is based on, beside its experiment.
struct Prediction {
  std::string profile;         ///< the machine profile: a name or a path
  std::string profile_source;  ///< where its figures come from
  std::string from;            ///< the report whose measured demands were used; empty: none
  double cores = 0;
  std::string cores_from;  ///< "limits.cpus", "this machine", ...
  StepCost step = StepCost::kStated;
  bool changes_were_run = false;  ///< the what-ifs: in virtual time; else by bounds on demands
};

/// One finished run: its experiment, measurement and diagnosis.
struct RunReport {
  Context context;
  spec::Experiment experiment;
  Reality storage = Reality::kEmulated, prepare = Reality::kReal, device = Reality::kReal,
          engine = Reality::kReal;
  measure::Measurement measurement;
  diagnose::Diagnosis diagnosis;
  /// The command behind diagnosis.recommendation, the program's name first, one word an element and
  /// not yet quoted: {"pipesim", "a.yaml", "--workers", "6"}. Empty: nothing to run.
  std::vector<std::string> next_argv;
  std::vector<measure::Result> repeats;  ///< each repeat's own result, when there were several
  std::optional<Prediction> prediction;  ///< of a predicted run alone
};

/// The document; validates against the schema. Texts that are no UTF-8 get U+FFFD in place of the
/// bad bytes; numbers that are not finite become null. Never throws on what a run can hold.
Document ToJson(const RunReport& report);

/// A kept document. Throws base::EnvironmentError, naming `source`, when the text is no JSON,
/// nested deeper than any report, or no report that this version can read.
Document Parse(std::string_view text, const std::string& source);

enum class Detail {
  kBrief,   ///< verdict, why, next
  kNormal,  ///< and the numbers to believe them
  kFull     ///< and each worker, host-side shares, every setting with its origin, every warning
};
struct TextOptions {
  Detail detail = Detail::kNormal;
  bool colour = false;  ///< ANSI; repeats what the words say
  bool utf8 = true;     ///< false: ASCII only, "+-" for the plus-minus sign
};
/// Text of a document of kind `run`, made from the document alone: verdict first, at most 80
/// columns but for commands. What the document lacks, or holds in another type, prints as n/a;
/// never throws on that. Texts from the document reach the result without control characters.
std::string ToText(const Document& report, const TextOptions& options);

/// One export format. The catalogue is explicit.
struct Exporter {
  std::string_view name;  ///< "json"
  std::string_view help;  ///< one line, for --help
  std::string (*render)(const Document& report);
};
std::span<const Exporter> Exporters();

}  // namespace pipesim::report
