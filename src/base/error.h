// Errors that reach the user, and the exit codes they end in.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace pipesim::base {

/// The process's exit codes; part of the command line's contract.
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

/// One thing that is wrong with what the user wrote, and where.
struct Problem {
  std::string source;       ///< file name, or "command line"
  int line = 0;             ///< from 1; 0 when the source has no lines
  int column = 0;           ///< from 1, in characters
  std::string source_line;  ///< the text of that line, for the caret; may be empty
  int width = 1;            ///< characters the caret underlines
  std::string what;         ///< one sentence, no full stop
  std::string suggestion;   ///< what to write instead; may be empty
};

/// Thrown with every problem found, never with only the first.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

/// `file:line:column: error: what`, the source line, a caret, the suggestion; problems in order.
std::string FormatProblems(const std::vector<Problem>& problems);

/// A usage error: the message names the flag or command and what to do.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The environment refused something the command needs (a file, a library, memory): the message
/// says what, where and what to do. Ends in kConfiguration unless it came out of a run.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace pipesim::base
