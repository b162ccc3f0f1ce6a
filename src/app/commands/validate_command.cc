#include <fmt/format.h>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/installation.h"
#include "app/settings_text.h"
#include "base/standard_streams.h"

namespace pipesim::app {

base::ExitCode Validate(const Arguments& arguments) {
  if (arguments.Has("keys")) {
    PrintOut(KeysText());
    return base::ExitCode::kOk;
  }
  spec::Request request = RequestOf(arguments);
  request.files_here = true;
  const spec::ReadResult read = spec::ReadExperiment(request, FindDataFolders());
  if (!read.warnings.empty()) base::PrintError(base::FormatProblems(read.warnings));
  PrintOut(fmt::format("ok: {}\n",
                       arguments.positional.empty() ? "the flags" : arguments.positional[0]));
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
