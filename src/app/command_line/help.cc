#include <fmt/format.h>

#include <iterator>

#include "app/command_line/options.h"
#include "app/command_line/output.h"

namespace pipesim::app {
namespace {

std::string_view Title(Group group) {
  switch (group) {
    case Group::kPipeline:
      return "The pipeline";
    case Group::kStop:
      return "How long";
    case Group::kResult:
      return "The result";
    case Group::kGeneral:
      return "General";
  }
  return "";
}

void AppendGroup(std::string& text, Group group, const Command& command) {
  std::string rows;
  for (const Option& option : Options()) {
    if (option.group != group || FindOption(option.name, command) != &option) continue;
    std::string flag =
        fmt::format("--{}{}{}", option.name, option.value.empty() ? "" : " ", option.value);
    // A flag too long for its column stands alone on a line.
    if (flag.size() > 20) flag += fmt::format("\n{:24}", "");
    fmt::format_to(std::back_inserter(rows), "  {:<21} {}\n", flag, option.help);
  }
  if (!rows.empty()) fmt::format_to(std::back_inserter(text), "\n{}\n{}", Title(group), rows);
}

void AppendFormats(std::string& text, const Command& command) {
  if (FindOption("export", command) == nullptr) return;
  text += "\nFormats of --export, such as csv=points.csv\n";
  for (const report::Exporter& exporter : report::Exporters())
    if (HasFormat(command, exporter))
      fmt::format_to(std::back_inserter(text), "  {:<21} {}\n", exporter.name, exporter.help);
}

}  // namespace

std::string WelcomeText() {
  return "pipesim runs a training pipeline (loader, disk, queue, training step) and says\n"
         "what holds it back: data loading, the CPU, the IO or the GPU. Five ways to start:\n"
         "\n"
         "  pipesim --workers 4 --batch 256 --model mlp     this machine, a small model\n"
         "  pipesim --workers 4 --model resnet18 --storage hdd --device emulated\n"
         "                                                  a slow disk, an emulated GPU\n"
         "  pipesim --data DIR --workers 2 --batch 32 --model resnet18\n"
         "                                                  your own folder of JPEGs\n"
         "  pipesim configs/experiments/io-bound.yaml       an experiment file\n"
         "  pipesim report last --full                      the last report, everything\n"
         "\n"
         "pipesim --help lists the commands.\n";
}

std::string OverviewText() {
  std::string text =
      "Usage: pipesim [COMMAND] [EXPERIMENT.yaml] [flags]\n\nCommands (`run` may be left out)\n";
  for (const Command& command : Commands())
    fmt::format_to(std::back_inserter(text), "  {:<10} {}\n", command.name, command.summary);
  text +=
      "\npipesim COMMAND --help shows a command's flags. pipesim --version\n"
      "\nExit codes: 0 ok (any verdict), 2 usage, 3 configuration or missing input,\n"
      "  4 the run failed (report written), 5 a threshold was missed, 6 undecided,\n"
      "  130 interrupted, 1 a bug in pipesim\n";
  return text;
}

std::string HelpText(const Command& command) {
  std::string text =
      fmt::format("Usage: pipesim {}\n\n{}\n\nExamples\n", command.usage, command.text);
  for (std::string_view example : command.examples)
    fmt::format_to(std::back_inserter(text), "  {}\n", example);
  for (Group group : {Group::kPipeline, Group::kStop, Group::kResult, Group::kGeneral})
    AppendGroup(text, group, command);
  AppendFormats(text, command);
  if (command.flags & kExperimentFlags)
    text +=
        "\nTimes need a unit (ns us ms s min h), sizes too (kB MB GB KiB MiB GiB), rates\n"
        "end in /s. A later flag wins; one of a key wins over one of its section.\n"
        "`pipesim validate --keys` lists what --set takes.\n";
  return text;
}

}  // namespace pipesim::app
