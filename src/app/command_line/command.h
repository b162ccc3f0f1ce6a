// What a command is, and which there are. The table stands in app/commands.cc, beside the
// functions.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace pipesim::app {

struct Arguments;

/// Flags that commands take together. A command's row says which sets it takes.
enum FlagSet : unsigned {
  kExperimentFlags = 1,  ///< what an experiment says beyond a machine: workers, storage, how long
  kMachineFlags = 2,     ///< what a machine's figures depend on: model, batch, device, cores
  kJudgeFlags = 4,       ///< of a finished run: thresholds, keeping it, --dry-run
  kTextFlags = 8,        ///< how a report is shown and exported
  kStartFlags = 16,      ///< --quiet, --needs-libtorch
  kPredictFlags = 32,
  kCalibrateFlags = 64,
  kValidateFlags = 128,
  kHelpFlags = 256,
};

struct Command {
  std::string_view name;
  std::string_view usage;                      ///< after "pipesim "
  std::string_view summary;                    ///< one line
  std::string_view text;                       ///< a paragraph or two
  std::span<const std::string_view> examples;  ///< each runs as it stands
  unsigned flags = kHelpFlags;                 ///< the sets it takes
  /// Returns the exit code; throws what main turns into a message.
  base::ExitCode (*function)(const Arguments& arguments) = nullptr;
};

std::span<const Command> Commands();
/// nullptr if there is none.
const Command* FindCommand(std::string_view name);

}  // namespace pipesim::app
