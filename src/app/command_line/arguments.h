// Parses the command line; does not act on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command_line/options.h"
#include "spec/read.h"

namespace pipesim::app {

struct Argument {
  const Option* option = nullptr;
  std::string value;
};

struct Arguments {
  const Command* command = nullptr;
  std::vector<std::string> typed;  ///< everything after the program's name
  std::vector<std::string> positional;
  std::vector<Argument> options;  ///< in the order typed

  bool Has(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;
  /// The last one given.
  std::optional<std::string> Last(std::string_view name) const;
};

/// `words` is argv without the program's name. Throws base::UsageError that names the flag and, for
/// a typo, the nearest one.
Arguments ParseArguments(const std::vector<std::string>& words);

/// The experiment that the arguments describe: the file, then the flags in order. Throws
/// base::UsageError for a --set without '=' or more than one file.
spec::Request RequestOf(const Arguments& arguments);

/// The arguments as those of another command, without flags that it does not take and without those
/// that say how a report is shown and exported.
Arguments ForCommand(const Arguments& arguments, std::string_view command);

/// The same command with `changes` (experiment keys and values): removes flags that set one of
/// these keys and appends the new ones, as a short flag where one exists. Leaves out --export and
/// --open, whose file holds the present report, and with changes --expect and --observed, which say
/// something of the run without them. Starts with "pipesim".
std::vector<std::string> WithChanges(
    const Arguments& arguments, const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace pipesim::app
