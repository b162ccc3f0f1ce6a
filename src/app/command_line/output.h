// Where results go: the report's text on stdout, exports in files that are opened before the run.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/command_line/arguments.h"
#include "base/files.h"
#include "report/report.h"

namespace pipesim::app {

/// The exports of the command line, opened at once so that a bad path fails before the run.
class Exports {
 public:
  /// Throws base::UsageError for an unknown format, base::EnvironmentError for a bad path.
  explicit Exports(const Arguments& arguments);

  /// An export went to stdout ("json=-") in place of the text.
  bool replaces_text() const { return replaces_text_; }
  /// Renders and writes all. Every export is tried; throws base::EnvironmentError with the reasons
  /// of those that failed.
  void Write(const report::Document& document);

 private:
  struct Target {
    const report::Exporter* exporter = nullptr;
    std::optional<base::OutputFile> file;  ///< nullopt: stdout
  };
  std::vector<Target> targets_;
  bool replaces_text_ = false;
};

/// Detail from --brief and --full, colour and encoding from the terminal and its environment.
report::TextOptions TextOptionsFor(const Arguments& arguments);

/// Writes to stdout; throws base::EnvironmentError when it is closed or full.
void PrintOut(std::string_view text);

}  // namespace pipesim::app
