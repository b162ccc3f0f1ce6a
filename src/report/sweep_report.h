// The report of `pipesim sweep`: one JSON document of kind `sweep` (docs/schema/sweep.schema.json),
// its text, and the records of a sweep's journal, which are parts of that document.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"
#include "spec/sweep.h"
#include "sweep/analysis.h"
#include "sweep/journal.h"
#include "sweep/order.h"
#include "sweep/outcome.h"
#include "sweep/point_settings.h"

namespace pipesim::report {

struct SweepReport {
  Context context;
  spec::Experiment experiment;  ///< of the first point
  sweep::PointSettings settings;
  spec::Sweep sweep;
  std::vector<std::string> axis_names;  ///< of each axis, as short as the command line has them
  sweep::Engine engine = sweep::Engine::kRun;
  int repeats = 1;
  sweep::Shard shard;
  std::size_t points_asked = 0;             ///< of this shard
  std::vector<sweep::PointResult> results;  ///< ascending
  sweep::Analysis analysis;
  bool interrupted = false;
  std::string journal;  ///< its file; empty: none
  std::string next_text;
  std::vector<std::string> next_argv;
};

/// Valid against the schema.
Document ToJson(const SweepReport& report);

/// The text of a document of kind `sweep`.
std::string SweepText(const Document& document, const TextOptions& options);

/// "run", "predict", "both".
std::string_view EngineWord(sweep::Engine engine);

/// The first record of a journal. `empty`: the report without points, so that the journal alone can be
/// reported.
std::string IdentityRecord(const sweep::Identity& identity, const SweepReport& empty);
/// nullopt: not such a record.
std::optional<sweep::Identity> ReadIdentityRecord(std::string_view record);

/// A point's record. Reading it back gives an equal result.
std::string PointRecord(const sweep::PointResult& result);
std::optional<sweep::PointResult> ReadPointRecord(std::string_view record);

/// The report of the points that a journal holds, with those that failed; `interrupted` where some are
/// missing and no sweep writes it at the moment. Throws base::EnvironmentError.
Document ReadSweepJournal(const std::filesystem::path& file);

}  // namespace pipesim::report
