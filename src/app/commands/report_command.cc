#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/installation.h"
#include "app/kept_runs.h"
#include "report/view.h"

namespace pipesim::app {
base::ExitCode Report(const Arguments& arguments) {
  if (arguments.positional.size() != 1)
    throw base::UsageError("`pipesim report` takes `last` or one report file: pipesim report last");
  const std::filesystem::path file = ReportFile(arguments.positional[0], StateFolder());
  const auto document = report::ReadReport(file);
  Exports exports(arguments, document.at("kind").get_ref<const std::string&>());
  ExportAndPrint(arguments, exports, document);
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
