// Command lines: each line is a word. Everything is read, nothing is run.
#include <spdlog/spdlog.h>

#include "app/command_line/arguments.h"
#include "app/commands/compare_gate.h"
#include "app/observed.h"
#include "app/requirements.h"
#include "app/settings_text.h"
#include "app/commands/sweep_plan.h"
#include "base/text.h"
#include "fuzz.h"

namespace pipesim::fuzz {
namespace {

void ReadExperimentOf(const app::Arguments& arguments) {
  spec::Request request = app::RequestOf(arguments);
  request.file.reset();  // any path of this machine
  request.for_run = arguments.command->name == "run";
  const auto experiment = spec::ReadExperiment(request, Folders()).experiment;
  CheckExperiment(experiment);
  app::SettingsText(experiment);
  app::PlanOf(arguments, experiment);
}

}  // namespace

void Try(std::string_view input) {
  static const bool quiet = (spdlog::set_level(spdlog::level::off), true);
  if (!quiet || input.find('\0') != std::string_view::npos) return;  // no word holds a NUL
  app::Arguments arguments;
  if (!Accepted([&] { arguments = app::ParseArguments(base::Split(input, '\n')); })) return;
  RequirePrintable(app::HelpText(*arguments.command));
  app::WithChanges(arguments, {{"loader.workers", "3"}, {"storage", "hdd"}});
  app::ForCommand(arguments, "predict");
  Accepted([&] { app::ReadRequirements(arguments); });
  Accepted([&] { app::ReadObserved(arguments); });
  Accepted([&] { app::ReadCompareGate(arguments); });
  Accepted([&] { spec::ReadAxes({}, {}, arguments.All("axis"), {}); });
  Accepted([&] { ReadExperimentOf(arguments); });
}

}  // namespace pipesim::fuzz
