// A command of the command line. The table of commands is in app/commands.cc.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace pipesim::app {

struct Arguments;

/// Flags that commands take together. A command's row says which sets it takes.
enum FlagSet : unsigned {
  kExperimentFlags = 1,  ///< the pipeline and the length of the run: workers, storage, steps
  kMachineFlags = 2,     ///< also used by calibrate: model, batch, device, cores
  kJudgeFlags = 4,       ///< --expect, --require, --no-save, --dry-run
  kTextFlags = 8,        ///< how a report is shown and exported
  kStartFlags = 16,      ///< --quiet, --needs-libtorch
  kPredictFlags = 32,
  kCalibrateFlags = 64,
  kValidateFlags = 128,
  kHelpFlags = 256,
  kScenarioFlags = 512,  ///< --run, --predict
  kSizeFlags = 1024,
  kTuneFlags = 2048,
  kRunFlags = 4096,  ///< what needs real runs
  kSweepFlags = 8192,
  kCompareFlags = 16384,
  kImportFlags = 32768,
};

struct Command {
  std::string_view name;
  std::string_view usage;                      ///< after "pipesim "
  std::string_view summary;                    ///< one line
  std::string_view text;                       ///< a paragraph or two
  std::span<const std::string_view> examples;  ///< each is a complete command
  unsigned flags = kHelpFlags;                 ///< the sets it takes
  /// Returns the exit code; main turns exceptions into messages.
  base::ExitCode (*function)(const Arguments& arguments) = nullptr;
  /// Its words are not parsed but handed over as they are, as `positional`.
  bool takes_any_words = false;
};

std::span<const Command> Commands();
/// nullptr if there is none.
const Command* FindCommand(std::string_view name);

}  // namespace pipesim::app
