// Errors shown to the user, and the exit codes of the process.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace pipesim::base {

/// Part of the command line's contract.
enum class ExitCode : int {
  kOk = 0,             ///< any verdict
  kInternal = 1,       ///< a bug in pipesim
  kUsage = 2,          ///< the command line cannot be understood
  kConfiguration = 3,  ///< a configuration error or a missing input
  kRunFailed = 4,      ///< out of memory, a failed worker or bad data; the report was written
  kThresholdMissed = 5,
  kUndecided = 6,
  kInterrupted = 130,
};

/// One mistake in the user's input, and where it is.
struct Problem {
  std::string source;       ///< file name, or "command line"
  int line = 0;             ///< from 1; 0 when the source has no lines
  int column = 0;           ///< from 1, in characters
  std::string source_line;  ///< the text of that line, for the caret; may be empty
  int width = 1;            ///< characters underlined
  std::string what;         ///< one sentence, no full stop
  std::string suggestion;   ///< what to write instead; may be empty
};

/// Carries every problem found, not only the first.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// `file:line:column: error: what`, the source line, a caret, the suggestion; problems in order.
std::string FormatProblems(const std::vector<Problem>& problems);

/// The message names the flag or command and says what to do.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The environment lacks or refuses something that the command needs (a file, a library, memory).
/// The message says what, where and what to do. The exit code is kConfiguration unless a run
/// failed.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace pipesim::base
