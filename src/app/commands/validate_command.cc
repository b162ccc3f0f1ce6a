#include <fmt/format.h>

#include <algorithm>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/installation.h"
#include "app/settings_text.h"
#include "base/standard_streams.h"

namespace pipesim::app {

namespace {

/// Reads the experiments of the points of the file's sweep, of a very large one the first.
void CheckSweep(const spec::Request& request, const spec::DataFolders& folders) {
  constexpr std::size_t kMostChecked = 10'000;
  const spec::Sweep sweep = spec::ReadAxes(request, folders, {}, {});
  const std::size_t points = sweep.axes.empty() ? 0 : std::min(sweep.Points(), kMostChecked);
  for (std::size_t point = 0; point < points; ++point) {
    spec::Request of_point = request;
    const auto changes = spec::OverridesAt(sweep, point);
    of_point.overrides.insert(of_point.overrides.end(), changes.begin(), changes.end());
    spec::ReadExperiment(of_point, folders);
  }
}

}  // namespace

base::ExitCode Validate(const Arguments& arguments) {
  if (arguments.Has("keys")) {
    PrintOut(KeysText());
    return base::ExitCode::kOk;
  }
  spec::Request request = RequestOf(arguments);
  request.files_here = true;
  const spec::DataFolders folders = spec::ReadingOnce(FindDataFolders());
  const spec::ReadResult read = spec::ReadExperiment(request, folders);
  CheckSweep(request, folders);
  if (!read.warnings.empty()) base::PrintError(base::FormatProblems(read.warnings));
  PrintOut(fmt::format("ok: {}\n",
                       arguments.positional.empty() ? "the flags" : arguments.positional[0]));
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
