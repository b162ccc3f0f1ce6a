// The one table of command-line flags: parsing, help and the YAML path behind each flag come from
// it. Says what may be typed; does nothing with it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pipesim::app {

enum class Group { kPipeline, kStop, kResult, kGeneral };

/// Which commands take an option, as bits.
inline constexpr unsigned kRun = 1, kValidate = 2, kReport = 4, kExplain = 8, kPredict = 16,
                          kCalibrate = 32;
inline constexpr unsigned kEveryCommand =
    kRun | kPredict | kCalibrate | kValidate | kReport | kExplain;

struct Option {
  std::string_view name;   ///< without the dashes
  std::string_view value;  ///< "N"; empty: a switch without a value
  std::string_view path;   ///< the experiment key it sets; empty: not part of the experiment
  std::string_view help;   ///< one line
  Group group = Group::kGeneral;
  unsigned commands = kEveryCommand;
  bool repeats = false;                                ///< may be given more than once
  std::string (*to_yaml)(std::string_view) = nullptr;  ///< the key's value; null: as typed
};

std::span<const Option> Options();

/// The option named `name` that `command` takes; nullptr if there is none.
const Option* FindOption(std::string_view name, unsigned command);

/// The short flag that sets exactly the experiment key `path` as typed; nullptr if only --set does.
const Option* OptionOfPath(std::string_view path);

struct Command {
  std::string_view name;
  unsigned bit = 0;
  std::string_view usage;                      ///< after "pipesim "
  std::string_view summary;                    ///< one line
  std::string_view text;                       ///< a paragraph or two
  std::span<const std::string_view> examples;  ///< each runs as it stands
};

std::span<const Command> Commands();
const Command* FindCommand(std::string_view name);

/// What `pipesim` alone prints: what it is, and five examples.
std::string WelcomeText();
/// What `pipesim --help` prints: the commands.
std::string OverviewText();
/// What `pipesim COMMAND --help` prints, 80 columns.
std::string HelpText(const Command& command);

}  // namespace pipesim::app
