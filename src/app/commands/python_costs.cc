#include "app/commands/python_costs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/installation.h"
#include "base/error.h"
#include "base/text.h"
#include "calibrate/calibration.h"

namespace pipesim::app {
namespace {

std::filesystem::path FindScript() {
  for (const std::filesystem::path& root : FindDataFolders().roots) {
    const std::filesystem::path script = root / "tools" / "measure_loader.py";
    if (std::filesystem::exists(script)) return script;
  }
  throw base::EnvironmentError("tools/measure_loader.py is not among the program's data files");
}

[[noreturn]] void CannotRun(const std::string& python, const std::string& why) {
  throw base::EnvironmentError(fmt::format("{}: {}; --python names a Python that imports torch",
                                           base::Printable(python), why));
}

/// What the child writes until it ends.
std::string AllOf(int fd) {
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

/// Runs `python script` and returns its stdout.
std::string OutputOf(const std::string& python, const std::string& script, bool quiet) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) CannotRun(python, std::strerror(errno));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, pipe_ends[1], STDOUT_FILENO);
  // Warnings of torch about optional packages are none of the user's business here.
  std::vector<std::string> words{python, "-W", "ignore", script};
  if (quiet) words.push_back("--quiet");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, python.c_str(), &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(pipe_ends[1]);
  std::string output = error == 0 ? AllOf(pipe_ends[0]) : "";
  close(pipe_ends[0]);
  if (error != 0) CannotRun(python, std::strerror(error));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    CannotRun(python, "measuring its DataLoader failed (see above)");
  return output;
}

}  // namespace

std::string ReadPythonFigures(std::string_view output, const std::string& python,
                              spec::MachineFigures& figures) {
  const auto document = nlohmann::json::parse(output, nullptr, /*allow_exceptions=*/false);
  const auto refuse = [&] { CannotRun(python, "measuring its DataLoader gave no figures"); };
  if (!document.is_object() || !document.contains("figures") || !document["figures"].is_object() ||
      !document.contains("source") || !document["source"].is_string())
    refuse();
  const std::string source = document["source"];
  for (const auto& [key, figure] : document["figures"].items()) {
    if (!figure.is_object() || !figure.contains("values") || !figure["values"].is_array() ||
        !figure.contains("how") || !figure["how"].is_string())
      refuse();
    std::vector<double> values;
    for (const auto& value : figure["values"]) {
      if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0)
        refuse();
      values.push_back(value);
    }
    const std::string how = fmt::format("{} ({})", figure["how"].get<std::string>(), source);
    if (!calibrate::SetMeasured(figures, key, values, how)) refuse();
  }
  return source;
}

std::string MeasurePython(const std::string& python, bool quiet, spec::MachineFigures& figures) {
  return ReadPythonFigures(OutputOf(python, FindScript().string(), quiet), python, figures);
}

}  // namespace pipesim::app
