// The one table of command-line flags: parsing, help and the YAML path behind each flag come from
// it. Describes flags; does not act on them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/command_line/command.h"

namespace pipesim::app {

/// A heading of the help.
enum class Group { kPipeline, kStop, kResult, kGeneral };

struct Option {
  std::string_view name;   ///< without the dashes
  std::string_view value;  ///< "N"; empty: a switch without a value
  std::string_view path;   ///< the experiment key it sets; empty: not part of the experiment
  std::string_view help;   ///< one line
  Group group = Group::kGeneral;
  FlagSet set = kHelpFlags;
  std::string (*to_yaml)(std::string_view) = nullptr;  ///< the key's value; null: as typed
};

std::span<const Option> Options();

/// The option named `name` that `command` takes; nullptr if there is none.
const Option* FindOption(std::string_view name, const Command& command);

/// The short flag that sets exactly the experiment key `path` as typed; nullptr if only --set does.
const Option* OptionOfPath(std::string_view path);

/// What `pipesim` without arguments prints: its purpose and five examples.
std::string WelcomeText();
/// What `pipesim --help` prints: the commands.
std::string OverviewText();
/// What `pipesim COMMAND --help` prints, 80 columns.
std::string HelpText(const Command& command);

}  // namespace pipesim::app
