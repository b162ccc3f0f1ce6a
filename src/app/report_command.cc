#include <fmt/format.h>

#include "app/commands.h"
#include "app/installation.h"
#include "app/kept_runs.h"
#include "app/output.h"
#include "base/files.h"

namespace pipesim::app {
namespace {

std::filesystem::path FileOf(const std::string& which) {
  if (which != "last") return which;
  const auto folder = StateFolder();
  const auto newest = folder ? NewestRun(*folder) : std::nullopt;
  if (!newest)
    throw base::EnvironmentError(
        fmt::format("no run is kept{}; run `pipesim --workers 4 --batch 256 --model mlp` first",
                    folder ? " in " + (*folder / "runs").string() : ""));
  return *newest;
}

}  // namespace

base::ExitCode Report(const Arguments& arguments) {
  if (arguments.positional.size() != 1)
    throw base::UsageError("`pipesim report` takes `last` or one report file: pipesim report last");
  const std::filesystem::path file = FileOf(arguments.positional[0]);
  const auto document = report::Parse(base::ReadFile(file), file.string());
  Exports exports(arguments);
  if (!exports.replaces_text()) PrintOut(report::ToText(document, TextOptionsFor(arguments)));
  exports.Write(document);
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
