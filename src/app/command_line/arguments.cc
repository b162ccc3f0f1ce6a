#include "app/command_line/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"
#include "spec/keys.h"

// Otherwise cxxopts splits values at commas, which file names may hold.
#define CXXOPTS_VECTOR_DELIMITER '\0'
#define CXXOPTS_NO_REGEX
#include <cxxopts.hpp>

namespace pipesim::app {
namespace {

/// Cannot be typed as a flag: cxxopts does not accept "?" in a name.
constexpr const char* kPositional = "words?";

/// The first command that takes `flag`; nullptr: none does.
const Command* CommandOf(const std::string& flag) {
  for (const Command& command : Commands()) {
    if (flag.starts_with("--") && FindOption(flag.substr(2), command)) return &command;
  }
  return nullptr;
}

/// What `name`, without dashes, stands for: a word of other programs, a key of the experiment file
/// or a slip. Empty: nothing comes near.
std::string FlagMeant(std::string name, const Command& command) {
  name = base::LowerCase(name);
  const bool takes_experiment = (command.flags & kMachineFlags) != 0;
  if (takes_experiment && (name == "gpu" || name == "cuda")) return "--device cuda:0";
  std::vector<std::string> names;
  for (const Option& option : Options())
    if (FindOption(option.name, command) == &option) names.emplace_back(option.name);
  if (const auto exact = base::FindName(name, names)) return "--" + names[*exact];
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  const bool is_path = std::ranges::any_of(
      spec::Keys(), [&key](const spec::Key& known) { return known.path == key; });
  std::string path;
  if (takes_experiment) path = is_path ? key : spec::MeantKey("", key);
  if (const Option* option = path.empty() ? nullptr : OptionOfPath(path))
    if (FindOption(option->name, command) == option) return "--" + std::string(option->name);
  if (!path.empty()) return "--set " + path + "=VALUE";
  const auto near = base::Nearest(name, names);
  return near ? "--" + *near : "";
}

/// `word` as typed, dashes and value included.
std::string UnknownFlag(const std::string& word, const Command& command) {
  const std::string flag = word.substr(0, word.find('='));
  if (const Command* other = CommandOf(flag))
    return fmt::format("{} is a flag of `pipesim {}`; `pipesim {}` has no use for it", flag,
                       other->name, command.name);
  std::string text =
      fmt::format("unknown flag {} for `pipesim {}`", base::Printable(flag), command.name);
  const std::size_t begin = flag.find_first_not_of('-');
  const std::string meant =
      begin == std::string::npos ? "" : FlagMeant(flag.substr(begin), command);
  if (!meant.empty()) text += fmt::format("; did you mean {}?", meant);
  return text + fmt::format("\n`pipesim {} --help` lists the flags", command.name);
}

std::string NeedsValue(const Option& option) {
  return fmt::format("--{} needs a value: --{} {}", option.name, option.name, option.value);
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

/// A switch is a flag whose value is empty unless one is given by '='.
cxxopts::Options ParserFor(const Command& command) {
  cxxopts::Options parser("pipesim");
  auto add = parser.add_options();
  for (const Option& option : Options()) {
    if (FindOption(option.name, command) != &option) continue;
    auto value = cxxopts::value<std::string>();
    if (option.value.empty()) value->implicit_value("");
    add(std::string(option.name), "", value);
  }
  add(kPositional, "", cxxopts::value<std::vector<std::string>>());
  parser.parse_positional(kPositional);
  return parser;
}

/// The flag that a cxxopts message names; exceptions give no other access to it.
std::string Quoted(const cxxopts::exceptions::exception& error) {
  const std::string text = error.what();
  const std::size_t begin = text.find(cxxopts::LQUOTE), end = text.rfind(cxxopts::RQUOTE);
  if (begin == std::string::npos || end == std::string::npos) return text;
  return text.substr(begin + cxxopts::LQUOTE.size(), end - begin - cxxopts::LQUOTE.size());
}

/// The typed word that cxxopts calls `name`; for "-workers" its name is the letter.
std::string TypedWord(const std::vector<std::string>& words, const std::string& name) {
  for (const std::string& word : words) {
    if (word.substr(0, word.find('=')) == "--" + name) return word;
    if (name.size() == 1 && word.starts_with("-" + name)) return word;
  }
  return name;
}

/// Checks one flag that cxxopts parsed: it takes any next word as the value.
Argument Checked(const cxxopts::KeyValue& given, const std::vector<std::string>& words,
                 const Command& command) {
  const Option& option = *FindOption(given.key(), command);
  if (option.value.empty() && !given.value().empty())
    throw base::UsageError(fmt::format("--{} takes no value", option.name));
  const bool is_flag = given.value().starts_with("--") &&
                       std::find(words.begin(), words.end(), given.value()) != words.end();
  if (is_flag) throw base::UsageError(NeedsValue(option));
  return {&option, given.value()};
}

/// Parses the words after the command. Throws base::UsageError for the first unknown one.
void ParseWords(const std::vector<std::string>& words, Arguments& out) {
  const Command& command = *out.command;
  std::vector<const char*> argv{"pipesim"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  namespace failures = cxxopts::exceptions;
  try {
    auto parser = ParserFor(command);
    const auto parsed = parser.parse(static_cast<int>(argv.size()), argv.data());
    for (const cxxopts::KeyValue& given : parsed.arguments()) {
      if (given.key() == kPositional)
        out.positional.push_back(given.value());
      else
        out.options.push_back(Checked(given, words, command));
    }
  } catch (const failures::no_such_option& error) {
    throw base::UsageError(UnknownFlag(TypedWord(words, Quoted(error)), command));
  } catch (const failures::invalid_option_syntax& error) {
    throw base::UsageError(UnknownFlag(Quoted(error), command));
  } catch (const failures::missing_argument& error) {
    throw base::UsageError(NeedsValue(*FindOption(Quoted(error), command)));
  } catch (const failures::exception& error) {
    throw base::UsageError(error.what());
  }
}

bool IsPartOf(std::string_view path, std::string_view section) {
  return path.size() > section.size() && path.starts_with(section) && path[section.size()] == '.';
}

/// A flag that sets a whole section goes before those that set a part of it, whatever their order.
void Add(spec::Override added, std::vector<spec::Override>& overrides) {
  const auto part = std::find_if(overrides.begin(), overrides.end(), [&](const spec::Override& earlier) {
    return IsPartOf(earlier.path, added.path);
  });
  overrides.insert(part, std::move(added));
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
  arguments.command = &CommandOf(rest);
  if (arguments.command->takes_any_words)
    arguments.positional = rest;
  else
    ParseWords(rest, arguments);
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
      Add({argument.value.substr(0, equals), argument.value.substr(equals + 1), flag}, request.overrides);
    } else if (!argument.option->path.empty()) {
      const auto to_yaml = argument.option->to_yaml;
      Add({std::string(argument.option->path), to_yaml ? to_yaml(argument.value) : argument.value, flag},
          request.overrides);
    }
  }
  return request;
}

Arguments ForCommand(const Arguments& arguments, std::string_view command) {
  Arguments same = arguments;
  same.command = FindCommand(command);
  std::erase_if(same.options, [&](const Argument& argument) {
    return argument.option->set == kTextFlags ||
           FindOption(argument.option->name, *same.command) == nullptr;
  });
  return same;
}

std::vector<std::string> WithChanges(
    const Arguments& arguments, const std::vector<std::pair<std::string, std::string>>& changes) {
  const auto changed = [&](std::string_view path) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const auto& change) { return change.first == path || IsPartOf(path, change.first); });
  };
  std::vector<std::string> words{"pipesim"};
  if (arguments.command->name != "run") words.emplace_back(arguments.command->name);
  for (const std::string& word : arguments.positional) words.push_back(word);
  for (const Argument& argument : arguments.options) {
    // How this report is shown and proved; pasted, an export would overwrite it.
    const std::string_view name = argument.option->name;
    if (name == "export" || name == "open" || name == "prove") continue;
    // Said of the run as it is.
    if (!changes.empty() && (name == "expect" || name == "observed")) continue;
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
