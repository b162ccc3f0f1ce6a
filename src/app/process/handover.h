// Passes the results of a supervised run to its parent through an unnamed memory file (memfd): it
// survives the run, however the run dies, and leaves nothing on disk. One writer; one reader, which
// reads after the writer has exited.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "engine/executor.h"
#include "report/report.h"

namespace pipesim::app {

/// What a finished run hands over: print the document and the notes, then exit with `code`.
struct Outcome {
  report::Document document;
  std::vector<std::string> notes;  ///< for stderr, after the report
  base::ExitCode code = base::ExitCode::kOk;
};

/// How far a run had got when it last reported.
struct LastProgress {
  base::Duration elapsed{};
  std::int64_t steps = 0, samples = 0;
  double samples_per_s = 0;  ///< over about the last second
};

class Handover {
 public:
  /// Throws base::EnvironmentError when the memory file cannot be created.
  static Handover Create();
  /// Takes over a descriptor that Create made, in the process that inherited it.
  explicit Handover(int fd) : fd_(fd) {}
  ~Handover();
  Handover(Handover&& other) noexcept;
  Handover& operator=(Handover&&) = delete;

  int fd() const { return fd_; }

  /// Stores the report to show if the run dies: one without any measurement. Throws
  /// base::EnvironmentError, as does Finish.
  void Begin(const report::Document& nothing_measured);
  /// Takes a few microseconds. Any thread, one at a time.
  void ReportProgress(const engine::Progress& progress);
  void Finish(const Outcome& outcome);
  /// Stores a text that belongs to the report: `write` gives it to the sink in pieces. Call before
  /// Finish. Throws base::EnvironmentError.
  void Attach(const std::function<void(const base::TextSink&)>& write);

  std::optional<report::Document> begun() const;
  std::optional<LastProgress> last_progress() const;
  std::optional<Outcome> finished() const;
  bool has_attachment() const;
  /// Gives what was attached to the sink in pieces.
  void ReadAttachment(const base::TextSink& sink) const;

 private:
  struct Place {
    std::int64_t at = 0, size = 0;
  };
  struct Header {
    Place begun, finished, attachment;
    LastProgress last_progress;
  };
  Header Read() const;
  void WriteHeader(const Header& header);
  Place Append(const report::Document& document);
  Place AtEnd() const;  ///< empty
  void AppendTo(Place& place, std::string_view text);
  std::optional<report::Document> ReadAt(const Place& place) const;

  int fd_ = -1;
};

}  // namespace pipesim::app
