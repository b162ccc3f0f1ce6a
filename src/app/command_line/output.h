// Where results go: the report's text on stdout, exports in files that are opened before the run.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "app/command_line/arguments.h"
#include "base/files.h"
#include "base/output_folder.h"
#include "report/report.h"

namespace pipesim::app {

/// The report that the command ends in has this format.
bool HasFormat(const Command& command, const report::Exporter& exporter);

/// The command line asks for an export of spans: the run must keep them.
bool ExportsSpans(const Arguments& arguments);

/// Gives the text of the export of spans to a sink.
using SpansText = std::function<void(const base::TextSink&)>;

/// That text for the spans of a run in this process.
void WriteSpans(const trace::RunTrace& trace, const report::Document& document,
                const base::TextSink& sink);

/// The exports of the command line, opened at once so that a bad path fails before the run.
class Exports {
 public:
  /// Throws base::UsageError for a format that is unknown or that the command's report does not
  /// have, base::EnvironmentError for a bad path, or for --open where there is no place for its
  /// page.
  explicit Exports(const Arguments& arguments);
  /// The same for a saved document of this kind.
  Exports(const Arguments& arguments, std::string_view kind);

  /// An export went to stdout ("json=-") in place of the text.
  bool replaces_text() const { return replaces_text_; }
  /// Renders and writes all, then shows the page if --open asks for it. Every export is tried;
  /// throws base::EnvironmentError with the reasons of those that failed. Where there is no browser,
  /// says on stderr where the page is. `spans`: empty where the run ended without them.
  void Write(const report::Document& document, const SpansText& spans = {});

 private:
  struct Target {
    const report::Exporter* exporter = nullptr;
    std::optional<base::OutputFile> file;      ///< neither: stdout
    std::optional<base::OutputFolder> folder;
  };
  void Open(const Arguments& arguments, std::string_view kind, bool saved);
  void WriteOne(Target& target, const report::Document& document, const SpansText& spans);
  void Show(const report::Document& document) const;

  std::vector<Target> targets_;
  bool opens_ = false;
  std::optional<std::filesystem::path> page_;  ///< the exported one, which --open shows
  bool replaces_text_ = false;
};

/// Detail from --brief and --full, colour and encoding from the terminal and its environment.
report::TextOptions TextOptionsFor(const Arguments& arguments);

/// Writes to stdout; throws base::EnvironmentError when it is closed or full.
void PrintOut(std::string_view text);

}  // namespace pipesim::app
