// What stderr shows while a run goes on: one line that rewrites itself on a terminal, a line every
// ten seconds in a log.
#pragma once

#include <string>

#include "engine/executor.h"

namespace pipesim::app {

/// Not thread-safe: the engine calls from one thread.
class ProgressLine {
 public:
  ProgressLine(std::FILE* out, bool terminal);
  ~ProgressLine();  ///< leaves a clean line
  void Show(const engine::Progress& progress);
  /// What is being done before the run, and the share of it that is done. May be called very often.
  void ShowPreparing(std::string_view doing, double share);

 private:
  void Put(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  bool shown_ = false;
  base::Duration next_{};
  base::Instant next_preparing_{};
};

}  // namespace pipesim::app
