#include "app/kept_runs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kKept = 20;

/// Sorted by name, which is by time. Empty when the folder cannot be read.
std::vector<fs::path> Runs(const fs::path& state_folder) {
  std::vector<fs::path> runs;
  std::error_code error;
  for (fs::directory_iterator at(state_folder / "runs", error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".json") runs.push_back(at->path());
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace

fs::path KeepRun(const fs::path& state_folder, const std::string& document) {
  std::error_code error;
  fs::create_directories(state_folder / "runs", error);
  const auto now = std::chrono::system_clock::now();
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() %
      1000000;
  const fs::path file =
      state_folder / "runs" /
      fmt::format("{:%Y%m%dT%H%M%S}-{:06}-{}.json",
                  fmt::gmtime(std::chrono::system_clock::to_time_t(now)), micros, getpid());
  base::OutputFile(file).Commit(document);
  std::vector<fs::path> runs = Runs(state_folder);
  for (std::size_t i = 0; i + kKept < runs.size(); ++i) fs::remove(runs[i], error);
  return file;
}

std::optional<fs::path> NewestRun(const fs::path& state_folder) {
  std::vector<fs::path> runs = Runs(state_folder);
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
