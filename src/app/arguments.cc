#include "app/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

// Without this a comma in a value ("0-3,6") would split it in two.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#include <cxxopts.hpp>

namespace pipesim::app {
namespace {

std::string UnknownFlag(const std::string& typed, const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : Options())
    if (option.commands & command.bit) names.push_back("--" + std::string(option.name));
  const std::string word = typed.substr(0, typed.find('='));
  std::string text =
      fmt::format("unknown flag {} for `pipesim {}`", base::Printable(word), command.name);
  if (auto near = base::Nearest(word, names)) text += fmt::format("; did you mean {}?", *near);
  return text + fmt::format("\n`pipesim {} --help` lists the flags", command.name);
}

std::string UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  std::string text = fmt::format("'{}' is neither a command nor an experiment file (*.yaml)",
                                 base::Printable(word));
  if (auto near = base::Nearest(word, names))
    text += fmt::format("; did you mean `pipesim {}`?", *near);
  return text + "\n`pipesim --help` lists the commands";
}

bool LooksLikeFile(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.find('/') != std::string::npos;
}

/// Finds the command; `run` when the first word is a flag or a file.
const Command& CommandOf(std::vector<std::string>& words) {
  const Command& run = *FindCommand("run");
  if (words.empty() || words[0].starts_with("-")) return run;
  if (const Command* named = FindCommand(words[0])) {
    words.erase(words.begin());
    return *named;
  }
  if (!LooksLikeFile(words[0])) throw base::UsageError(UnknownCommand(words[0]));
  return run;
}

cxxopts::Options ParserFor(const Command& command) {
  cxxopts::Options parser("pipesim");
  parser.allow_unrecognised_options();
  auto add = parser.add_options();
  for (const Option& option : Options()) {
    if (!(option.commands & command.bit)) continue;
    if (option.value.empty())
      add(std::string(option.name), "", cxxopts::value<bool>());
    else
      add(std::string(option.name), "", cxxopts::value<std::vector<std::string>>());
  }
  add("positional", "", cxxopts::value<std::vector<std::string>>());
  parser.parse_positional("positional");
  return parser;
}

/// cxxopts reports what it does not know only after reading on, so flags are checked first: each
/// word that starts with a dash must be a flag, and a flag with a value takes the next word.
void CheckFlags(const std::vector<std::string>& words, const Command& command) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-") || word == "-") continue;
    if (word == "--") return;
    if (!word.starts_with("--")) throw base::UsageError(UnknownFlag("-" + word, command));
    const std::size_t equals = word.find('=');
    const Option* option =
        FindOption(word.substr(2, equals == std::string::npos ? equals : equals - 2), command.bit);
    if (option == nullptr) throw base::UsageError(UnknownFlag(word, command));
    if (option->value.empty() && equals != std::string::npos)
      throw base::UsageError(fmt::format("--{} takes no value", option->name));
    if (option->value.empty() || equals != std::string::npos) continue;
    if (i + 1 >= words.size() || words[i + 1].starts_with("--"))
      throw base::UsageError(
          fmt::format("--{} needs a value: --{} {}", option->name, option->name, option->value));
    ++i;
  }
}

}  // namespace

bool Arguments::Has(std::string_view name) const {
  return std::any_of(options.begin(), options.end(),
                     [&](const Argument& a) { return a.option->name == name; });
}

std::vector<std::string> Arguments::All(std::string_view name) const {
  std::vector<std::string> values;
  for (const Argument& argument : options)
    if (argument.option->name == name) values.push_back(argument.value);
  return values;
}

std::optional<std::string> Arguments::Last(std::string_view name) const {
  std::vector<std::string> values = All(name);
  if (values.empty()) return std::nullopt;
  return values.back();
}

Arguments ParseArguments(const std::vector<std::string>& words) {
  Arguments arguments;
  arguments.typed = words;
  std::vector<std::string> rest = words;
  const Command& command = CommandOf(rest);
  arguments.command = &command;
  CheckFlags(rest, command);

  // "--flag value" is joined, because cxxopts takes "-1" after a flag for another flag.
  std::vector<std::string> joined{"pipesim"};
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const Option* option =
        rest[i].starts_with("--") ? FindOption(rest[i].substr(2), command.bit) : nullptr;
    if (option != nullptr && !option->value.empty())
      joined.push_back(rest[i] + "=" + rest[i + 1]), ++i;
    else
      joined.push_back(rest[i]);
  }
  std::vector<const char*> argv;
  for (const std::string& word : joined) argv.push_back(word.c_str());
  try {
    const cxxopts::ParseResult parsed =
        ParserFor(command).parse(static_cast<int>(argv.size()), argv.data());
    for (const auto& given : parsed.arguments()) {
      if (given.key() == "positional")
        arguments.positional.push_back(given.value());
      else
        arguments.options.push_back({FindOption(given.key(), command.bit), given.value()});
    }
  } catch (const cxxopts::exceptions::exception& error) {
    throw base::UsageError(error.what());
  }
  return arguments;
}

spec::Request RequestOf(const Arguments& arguments) {
  spec::Request request;
  if (arguments.positional.size() > 1)
    throw base::UsageError(fmt::format("one experiment file at a time; '{}' is a second one",
                                       base::Printable(arguments.positional[1])));
  if (!arguments.positional.empty()) request.file = arguments.positional[0];
  for (const Argument& argument : arguments.options) {
    const std::string flag = "--" + std::string(argument.option->name);
    if (argument.option->name == "set") {
      const std::size_t equals = argument.value.find('=');
      if (equals == std::string::npos || equals == 0)
        throw base::UsageError(
            fmt::format("--set takes KEY=VALUE, for example --set loader.workers=4, not '{}'",
                        base::Printable(argument.value)));
      request.overrides.push_back(
          {argument.value.substr(0, equals), argument.value.substr(equals + 1), flag});
    } else if (!argument.option->path.empty()) {
      const auto to_yaml = argument.option->to_yaml;
      request.overrides.push_back({std::string(argument.option->path),
                                   to_yaml ? to_yaml(argument.value) : argument.value, flag});
    }
  }
  return request;
}

std::vector<std::string> WithChanges(
    const Arguments& arguments, const std::vector<std::pair<std::string, std::string>>& changes) {
  const auto changed = [&](std::string_view path) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const auto& change) { return change.first == path; });
  };
  std::vector<std::string> words{"pipesim"};
  if (arguments.command->name != "run") words.emplace_back(arguments.command->name);
  for (const std::string& word : arguments.positional) words.push_back(word);
  for (const Argument& argument : arguments.options) {
    const bool is_set = argument.option->name == "set";
    const std::string path = is_set ? argument.value.substr(0, argument.value.find('='))
                                    : std::string(argument.option->path);
    if (!path.empty() && changed(path)) continue;
    words.push_back("--" + std::string(argument.option->name));
    if (!argument.option->value.empty()) words.push_back(argument.value);
  }
  for (const auto& [path, value] : changes) {
    if (const Option* option = OptionOfPath(path)) {
      words.push_back("--" + std::string(option->name));
      words.push_back(value);
    } else {
      words.push_back("--set");
      words.push_back(path + "=" + value);
    }
  }
  return words;
}

}  // namespace pipesim::app
