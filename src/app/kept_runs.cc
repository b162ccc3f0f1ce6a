#include "app/kept_runs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kKept = 20;

/// Sorted by name, which is by time. Empty when the folder cannot be read.
std::vector<fs::path> Kept(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == extension) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Keeps the text in a file of its own and drops all but the newest kKept.
fs::path KeepFile(const fs::path& folder, std::string_view extension, const std::string& text) {
  std::error_code error;
  fs::create_directories(folder, error);
  const auto now = std::chrono::system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
      1000000;
  const fs::path file =
      folder / fmt::format("{:%Y%m%dT%H%M%S}-{:06}-{}{}",
                           fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micros, getpid(),
                           extension);
  base::OutputFile(file).Commit(text);
  const std::vector<fs::path> files = Kept(folder, extension);
  for (std::size_t i = 0; i + kKept < files.size(); ++i) fs::remove(files[i], error);
  return file;
}

}  // namespace

fs::path KeepRun(const fs::path& state_folder, const std::string& document) {
  return KeepFile(state_folder / "runs", ".json", document);
}

fs::path KeepPage(const fs::path& state_folder, const std::string& page) {
  return KeepFile(state_folder / "pages", ".html", page);
}

std::optional<fs::path> NewestRun(const fs::path& state_folder) {
  std::vector<fs::path> runs = Kept(state_folder / "runs", ".json");
  if (runs.empty()) return std::nullopt;
  return runs.back();
}

fs::path ReportFile(const std::string& which, const std::optional<fs::path>& state_folder) {
  if (which != "last") return which;
  const auto newest = state_folder ? NewestRun(*state_folder) : std::nullopt;
  if (!newest)
    throw base::EnvironmentError(
        fmt::format("no run is kept{}; run `pipesim --workers 4 --batch 256 --model mlp` first",
                    state_folder ? " in " + (*state_folder / "runs").string() : ""));
  return *newest;
}

}  // namespace pipesim::app
