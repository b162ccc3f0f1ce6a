// What a supervised run leaves for the process that started it, in memory that both share: it
// outlives the run, however that dies. One writer, and one reader that reads when the writer is
// gone; the bytes are a file without a name (memfd), so nothing is left on any disk.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/executor.h"
#include "report/report.h"

namespace pipesim::app {

/// A finished run, all that is left to say: print it, then leave with `code`.
struct Outcome {
  report::Document document;
  std::vector<std::string> notes;  ///< for stderr, after the report
  base::ExitCode code = base::ExitCode::kOk;
};

/// How far a run had come when it last reported.
struct LastProgress {
  base::Duration elapsed{};
  std::int64_t steps = 0, samples = 0;
  double samples_per_s = 0;  ///< of about the last second
};

class Handover {
 public:
  /// Throws base::EnvironmentError when the system refuses.
  static Handover Create();
  /// Takes over a descriptor that Create made, in the process that inherited it.
  explicit Handover(int fd) : fd_(fd) {}
  ~Handover();
  Handover(Handover&& other) noexcept;
  Handover& operator=(Handover&&) = delete;

  int fd() const { return fd_; }

  /// The report as it would read if nothing of the run were ever measured. Throws
  /// base::EnvironmentError; likewise Finish.
  void Begin(const report::Document& nothing_measured);
  /// Takes a few microseconds. Any thread, one at a time.
  void ReportProgress(const engine::Progress& progress);
  void Finish(const Outcome& outcome);

  std::optional<report::Document> begun() const;
  std::optional<LastProgress> last_progress() const;
  std::optional<Outcome> finished() const;

 private:
  struct Place {
    std::int64_t at = 0, size = 0;
  };
  struct Header {
    Place begun, finished;
    LastProgress last_progress;
  };
  Header Read() const;
  void WriteHeader(const Header& header);
  Place Append(const report::Document& document);
  std::optional<report::Document> ReadAt(const Place& place) const;

  int fd_ = -1;
};

}  // namespace pipesim::app
