// The scripts with which shells complete commands, flags and names. They are made from the tables of
// commands and options and hold the names of the data folders as they are now.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/commands/scenarios.h"
#include "app/installation.h"
#include "base/text.h"
#include "calibrate/bench.h"
#include "diagnose/verdicts.h"
#include "spec/data_files.h"

namespace pipesim::app {
namespace {

using Words = std::vector<std::string>;

const Words kShells = {"bash", "zsh", "fish"};

/// What may follow flags and commands, by their names.
struct Completions {
  std::map<std::string, Words, std::less<>> of_flags, of_commands;
};

/// The words of "run|predict"; none where it has a placeholder, such as "NAME|FILE".
Words ChoicesOf(std::string_view value) {
  const bool literal =
      std::ranges::all_of(value, [](char c) { return std::islower(static_cast<unsigned char>(c)) || c == '|'; });
  return literal && !value.empty() ? base::Split(value, '|') : Words{};
}

Completions ReadCompletions() {
  const spec::DataFolders folders = FindDataFolders();
  Completions known;
  for (const Option& option : Options())
    if (Words choices = ChoicesOf(option.value); !choices.empty())
      known.of_flags.emplace(option.name, std::move(choices));
  known.of_flags["model"] = spec::DataNames(folders, spec::DataKind::kModel);
  known.of_flags["storage"] = spec::DataNames(folders, spec::DataKind::kStorage);
  known.of_flags["profile"] = spec::DataNames(folders, spec::DataKind::kMachine);
  Words& devices = known.of_flags["device"];
  devices = {"auto", "cpu", "cuda:0", "emulated"};
  for (const std::string& preset : spec::DataNames(folders, spec::DataKind::kDevice)) devices.push_back(preset);
  for (const diagnose::VerdictRow& row : diagnose::kVerdicts) known.of_commands["explain"].emplace_back(row.name);
  for (const Scenario& scenario : ReadScenarios(folders)) known.of_commands["scenarios"].push_back(scenario.name);
  known.of_commands["report"] = {"last"};
  for (const calibrate::BenchKind& kind : calibrate::BenchKinds()) known.of_commands["bench"].emplace_back(kind.name);
  known.of_commands["completion"] = kShells;
  return known;
}

std::vector<const Option*> OptionsOf(const Command& command) {
  std::vector<const Option*> options;
  for (const Option& option : Options())
    if (FindOption(option.name, command) == &option) options.push_back(&option);
  return options;
}

std::string BashScript(const Completions& known) {
  Words commands;
  std::string flags, words, values;
  for (const Command& command : Commands()) {
    commands.emplace_back(command.name);
    Words names;
    for (const Option* option : OptionsOf(command)) names.push_back("--" + std::string(option->name));
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", command.name, base::Join(names, " "));
  }
  for (const auto& [name, all] : known.of_commands)
    words += fmt::format("    {}) words=\"{}\" ;;\n", name, base::Join(all, " "));
  for (const auto& [name, all] : known.of_flags)
    values += fmt::format("    --{}) words=\"{}\" ;;\n", name, base::Join(all, " "));
  return fmt::format(R"(_pipesim() {{
  local command=run cur=${{COMP_WORDS[COMP_CWORD]}} prev= word flags= words=
  local commands="{0}"
  [ "$COMP_CWORD" -gt 0 ] && prev=${{COMP_WORDS[COMP_CWORD-1]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " $commands " in *" $word "*) command=$word; break ;; esac
  done
  case $command in
{1}  esac
  case $command in
{2}  esac
  [ "$COMP_CWORD" -eq 1 ] && words=$commands
  case $prev in
{3}  esac
  case $cur in -*) words=$flags ;; esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _pipesim pipesim
)",
                     base::Join(commands, " "), flags, words, values);
}

/// In single quotes for fish.
std::string FishQuoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return "'" + quoted + "'";
}

std::string FishScript(const Completions& known) {
  std::string script;
  for (const Command& command : Commands()) {
    script += fmt::format("complete -c pipesim -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          FishQuoted(command.summary));
    const std::string after = fmt::format("complete -c pipesim -n '__fish_seen_subcommand_from {}'", command.name);
    if (const auto words = known.of_commands.find(command.name); words != known.of_commands.end())
      script += fmt::format("{} -a {}\n", after, FishQuoted(base::Join(words->second, " ")));
    for (const Option* option : OptionsOf(command)) {
      script += fmt::format("{} -l {}{} -d {}", after, option->name, option->value.empty() ? "" : " -r",
                            FishQuoted(option->help));
      if (const auto values = known.of_flags.find(option->name); values != known.of_flags.end())
        script += " -a " + FishQuoted(base::Join(values->second, " "));
      script += '\n';
    }
  }
  return script;
}

}  // namespace

base::ExitCode Completion(const Arguments& arguments) {
  const std::string shell = base::Join(arguments.positional, " ");
  if (std::ranges::find(kShells, shell) == kShells.end())
    throw base::UsageError(shell.empty() ? "`pipesim completion` takes a shell: bash, zsh or fish"
                                         : fmt::format("'{}' is not bash, zsh or fish", base::Printable(shell)));
  const Completions known = ReadCompletions();
  if (shell == "zsh") PrintOut("autoload -U +X bashcompinit && bashcompinit\n");
  PrintOut(shell == "fish" ? FishScript(known) : BashScript(known));
  return base::ExitCode::kOk;
}

}  // namespace pipesim::app
