// `pipesim record` measures a user's own loader inside the user's Python: the package in python/pipesim
// does the work. This command only finds a Python and becomes it.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/installation.h"
#include "base/error.h"

namespace pipesim::app {
namespace {

/// Takes `--python FILE` or `--python=FILE` out of the words before "--"; empty: none was given.
std::string TakePython(std::vector<std::string>& words) {
  constexpr std::string_view kFlag = "--python", kWithValue = "--python=";
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (word->starts_with(kWithValue)) {
      const std::string python = word->substr(kWithValue.size());
      words.erase(word);
      return python;
    }
    if (*word != kFlag) continue;
    if (word + 1 == words.end()) throw base::UsageError("--python needs a value: --python FILE");
    const std::string python = *(word + 1);
    words.erase(word, word + 2);
    return python;
  }
  return "";
}

/// The Python beside the program, as pip installs it, else the first on PATH.
std::string DefaultPython() {
  const std::filesystem::path beside = ProgramFile().parent_path() / "python3";
  return access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

/// Lets Python find the package where the program brings it along.
void AddPackage(const std::filesystem::path& folder) {
  const char* present = std::getenv("PYTHONPATH");
  std::string path = folder.string();
  if (present != nullptr && *present != '\0') path = fmt::format("{}:{}", present, path);
  setenv("PYTHONPATH", path.c_str(), 1);
}

}  // namespace

base::ExitCode Record(const Arguments& arguments) {
  std::vector<std::string> words = arguments.positional;
  if (words.empty() || words[0] == "--help" || words[0] == "-h")
    return PrintOut(HelpText(*arguments.command)), base::ExitCode::kOk;
  std::string python = TakePython(words);
  if (python.empty()) python = DefaultPython();
  if (const auto folder = FindPythonPackage()) AddPackage(*folder);
  // The package asks this program for predictions.
  setenv("PIPESIM_PROGRAM", ProgramFile().c_str(), 1);

  words.insert(words.begin(), {python, "-m", "pipesim", "record"});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  throw base::EnvironmentError(fmt::format("cannot start {}: {}\n--python FILE names the Python "
                                           "that trains, such as .venv/bin/python",
                                           python, std::strerror(errno)));
}

}  // namespace pipesim::app
