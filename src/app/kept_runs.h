// The last 20 runs, kept for `pipesim report last`, and the last 20 pages of --open.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pipesim::app {

/// Keeps the document and drops all but the newest 20. Returns the file. Throws
/// base::EnvironmentError when it cannot be written.
std::filesystem::path KeepRun(const std::filesystem::path& state_folder,
                              const std::string& document);

/// The same for the pages that --open shows.
std::filesystem::path KeepPage(const std::filesystem::path& state_folder, const std::string& page);

/// The newest kept run, if there is one.
std::optional<std::filesystem::path> NewestRun(const std::filesystem::path& state_folder);

/// The report file that a user means by `which`: "last", the newest kept run, or a path. Throws
/// base::EnvironmentError when no run is kept.
std::filesystem::path ReportFile(const std::string& which,
                                 const std::optional<std::filesystem::path>& state_folder);

}  // namespace pipesim::app
