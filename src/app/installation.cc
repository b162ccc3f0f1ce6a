#include "app/installation.h"

#include <cstdlib>
#include <system_error>

#include "app/build_info.h"

namespace pipesim::app {

namespace fs = std::filesystem;

namespace {

fs::path ProgramFolder() { return ProgramFile().parent_path(); }

std::optional<fs::path> FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value);
}

}  // namespace

fs::path ProgramFile() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program;
}

std::optional<fs::path> FindPythonPackage() {
  for (const fs::path& root : FindDataFolders().roots) {
    std::error_code error;
    if (fs::exists(root / "python" / "pipesim" / "__main__.py", error)) return root / "python";
  }
  return std::nullopt;
}

spec::DataFolders FindDataFolders() {
  std::vector<fs::path> candidates;
  if (auto named = FromEnvironment("PIPESIM_DATA_DIR")) candidates.push_back(*named);
  candidates.push_back(ProgramFolder().parent_path() / "share" / "pipesim");
  if (*kSourceDir != '\0') candidates.emplace_back(kSourceDir);
  spec::DataFolders folders;
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_directory(candidate / "models", error)) folders.roots.push_back(candidate);
  }
  return folders;
}

std::optional<fs::path> FindTorchPlugin() {
  const fs::path plugin = ProgramFolder().parent_path() / "lib" / "pipesim" / "libpipesim_torch.so";
  std::error_code error;
  if (fs::exists(plugin, error)) return plugin;
  return std::nullopt;
}

std::optional<fs::path> StateFolder() {
  if (auto state = FromEnvironment("XDG_STATE_HOME")) return *state / "pipesim";
  if (auto home = FromEnvironment("HOME")) return *home / ".local" / "state" / "pipesim";
  return std::nullopt;
}

}  // namespace pipesim::app
