// The catalogue of known pains: lists, explains, predicts and runs them.
#include <fmt/format.h>

#include <algorithm>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/installation.h"
#include "app/process/busy_programs.h"
#include "app/commands/scenarios.h"
#include "base/text.h"
#include "report/page.h"

namespace pipesim::app {
namespace {

std::string WrapScenario(std::string_view text, std::string_view first, std::string_view rest) {
  return base::Join(report::Wrap(std::string(first) + std::string(text), report::kColumns, rest),
                    "\n") +
         "\n";
}

std::string ListText(const std::vector<Scenario>& scenarios) {
  constexpr std::size_t kVerdictColumns = 16;
  std::size_t name_columns = 0;
  for (const Scenario& scenario : scenarios)
    name_columns = std::max(name_columns, scenario.name.size() + 1);
  const auto row = [&](std::string_view name, std::string_view verdict, std::string_view pain) {
    return WrapScenario(
        pain, report::PadRight(name, name_columns) + report::PadRight(verdict, kVerdictColumns),
        std::string(name_columns + kVerdictColumns, ' '));
  };
  std::string text = row("scenario", "verdict", "pain");
  for (const Scenario& scenario : scenarios)
    text += row(scenario.name, scenario.verdict, scenario.pain);
  return text + "\npipesim scenarios NAME explains one.\n";
}

std::string ExplainScenario(const Scenario& scenario) {
  std::string text = WrapScenario(scenario.pain, scenario.name + ": ", "  ");
  text += "\n" + WrapScenario(scenario.met_as, "Met as   ", "         ");
  text += WrapScenario(fmt::format("{} (pipesim explain {})", scenario.verdict, scenario.verdict),
                       "Verdict  ", "         ");
  text += WrapScenario(scenario.text, "Why      ", "         ") + "\n";
  for (const std::string& line : base::Split(base::Trim(scenario.experiment), '\n'))
    text += "  " + line + "\n";
  text += "\nTry it\n";
  if (scenario.can_predict)
    text += fmt::format("  pipesim scenarios {} --predict\n", scenario.name);
  if (scenario.can_run) text += fmt::format("  pipesim scenarios {} --run\n", scenario.name);
  if (!scenario.can_predict) text += "Only a real run shows it.\n";
  if (!scenario.can_run) text += "It can only be predicted.\n";
  if (scenario.busy_programs > 0)
    text += fmt::format("--run keeps {} {} busy beside it.\n", scenario.busy_programs,
                        scenario.busy_programs == 1 ? "core" : "cores");
  return text + "Its file, to copy and change:\n  " + scenario.file.string() + "\n";
}

const Scenario& ScenarioNamed(const std::vector<Scenario>& scenarios, const std::string& name) {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios) {
    if (scenario.name == name) return scenario;
    names.push_back(scenario.name);
  }
  const auto near = base::Nearest(name, names);
  throw base::UsageError(fmt::format("there is no scenario '{}'{}; `pipesim scenarios` lists them",
                                     base::Printable(name),
                                     near ? "; did you mean " + *near + "?" : ""));
}

/// `pipesim COMMAND FILE --expect VERDICT`, and the flags that were typed.
base::ExitCode Answer(const Scenario& scenario, const std::string& command,
                      const Arguments& arguments) {
  std::vector<std::string> words{command, scenario.file.string(), "--expect", scenario.verdict};
  for (const Argument& argument : arguments.options) {
    if (argument.option->name == "run" || argument.option->name == "predict") continue;
    words.push_back("--" + std::string(argument.option->name));
    if (!argument.option->value.empty()) words.push_back(argument.value);
  }
  const Arguments answered = ParseArguments(words);
  const BusyPrograms beside(command == "run" && !arguments.Has("needs-libtorch") &&
                                    !arguments.Has("dry-run")
                                ? scenario.busy_programs
                                : 0);
  return answered.command->function(answered);
}

}  // namespace

base::ExitCode Scenarios(const Arguments& arguments) {
  const std::vector<Scenario> scenarios = ReadScenarios(FindDataFolders());
  const bool run = arguments.Has("run"), predict = arguments.Has("predict");
  if (arguments.positional.size() > 1)
    throw base::UsageError("`pipesim scenarios` takes one scenario");
  if (arguments.positional.empty()) {
    if (run || predict) throw base::UsageError("--run and --predict need a scenario's name");
    return PrintOut(ListText(scenarios)), base::ExitCode::kOk;
  }
  const Scenario& scenario = ScenarioNamed(scenarios, arguments.positional[0]);
  if (run && predict) throw base::UsageError("either --run or --predict");
  if (predict && !scenario.can_predict)
    throw base::UsageError(fmt::format("only a real run shows {}: use --run", scenario.name));
  if (run && !scenario.can_run)
    throw base::UsageError(fmt::format("{} can only be predicted: use --predict", scenario.name));
  if (!run && !predict) return PrintOut(ExplainScenario(scenario)), base::ExitCode::kOk;
  return Answer(scenario, run ? "run" : "predict", arguments);
}

}  // namespace pipesim::app
