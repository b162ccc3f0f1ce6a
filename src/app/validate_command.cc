#include <fmt/format.h>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/installation.h"
#include "app/settings_text.h"

namespace pipesim::app {

base::ExitCode Validate(const Arguments& arguments) {
  if (arguments.Has("keys")) {
    PrintOut(KeysText());
    return base::ExitCode::kOk;
  }
  const spec::ReadResult read = spec::ReadExperiment(RequestOf(arguments), FindDataFolders());
  if (!read.warnings.empty()) fmt::print(stderr, "{}", base::FormatProblems(read.warnings));
  PrintOut(fmt::format("ok: {}\n",
                       arguments.positional.empty() ? "the flags" : arguments.positional[0]));
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
