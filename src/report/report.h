// The report: one JSON document (docs/schema/run.schema.json). All other formats are views of that
// document, so that a saved report prints exactly as after the run. Knows no engine.
#pragma once

#include <algorithm>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "diagnose/diagnosis.h"
#include "measure/measurement.h"
#include "predict/resolve.h"
#include "spec/experiment.h"
#include "trace/run_trace.h"

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

/// One finished run: its experiment, measurement and diagnosis.
struct RunReport {
  Context context;
  spec::Experiment experiment;
  Reality storage = Reality::kEmulated, prepare = Reality::kReal, device = Reality::kReal,
          engine = Reality::kReal;
  measure::Measurement measurement;
  diagnose::Diagnosis diagnosis;
  /// The command of diagnosis.recommendation, unquoted words with the program's name first:
  /// {"pipesim", "a.yaml", "--workers", "6"}. Empty: nothing to run.
  std::vector<std::string> next_argv;
  std::vector<measure::Result> repeats;      ///< one per repeat, when there were several
  std::optional<predict::Notes> prediction;  ///< predicted runs only
};

/// The document, valid against the schema. Invalid UTF-8 becomes U+FFFD, numbers that are not
/// finite become null. Does not throw for any run.
Document ToJson(const RunReport& report);

enum class Detail {
  kBrief,   ///< verdict, why, next
  kNormal,  ///< plus the supporting numbers
  kFull     ///< plus each worker, host-side shares, every setting with its origin, every warning
};
struct TextOptions {
  Detail detail = Detail::kNormal;
  bool colour = false;  ///< ANSI; carries no extra information
  bool utf8 = true;     ///< false: ASCII only, "+-" for the plus-minus sign
};
/// The text of a document of any kind: the answer first, at most 80 columns except commands. Missing
/// values and values of the wrong type print as n/a and never throw. Control characters are
/// removed.
std::string ToText(const Document& report, const TextOptions& options);

/// One file of an export that is a folder.
struct ExportedFile {
  std::string path;  ///< inside the folder
  std::string content;
};

/// One export format: exactly one of its three functions is set. The catalogue is explicit.
struct Exporter {
  std::string_view name;  ///< "json"
  std::string_view help;  ///< one line, for --help
  /// One file, from the document alone.
  std::string (*render)(const Document& report) = nullptr;
  /// The kinds of documents that it renders; empty: every kind.
  std::span<const std::string_view> kinds = {};
  /// A folder of files, from the document alone.
  std::vector<ExportedFile> (*render_folder)(const Document& report) = nullptr;
  /// One file, from the spans of a run (RunControl::keep_spans), which documents do not hold.
  void (*write_trace)(const trace::RunTrace& trace, const Document& report,
                      const base::TextSink& sink) = nullptr;

  bool Takes(std::string_view kind) const {
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }
};
std::span<const Exporter> Exporters();

}  // namespace pipesim::report
