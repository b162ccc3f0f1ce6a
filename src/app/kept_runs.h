// The last 20 runs, kept for `pipesim report last`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pipesim::app {

/// Keeps the document and drops all but the newest 20. Returns the file. Throws
/// base::EnvironmentError when it cannot be written.
std::filesystem::path KeepRun(const std::filesystem::path& state_folder,
                              const std::string& document);

/// The newest kept run, if there is one.
std::optional<std::filesystem::path> NewestRun(const std::filesystem::path& state_folder);

/// The report file that a user means by `which`: "last", the newest kept run, or a path. Throws
/// base::EnvironmentError when no run is kept.
std::filesystem::path ReportFile(const std::string& which,
                                 const std::optional<std::filesystem::path>& state_folder);

}  // namespace pipesim::app
