// Reads an Experiment from the user's input (a YAML file, flags, --set): builds one tree of texts
// with places, then reads it and reports every problem. Opens only the given file and presets and
// models in the data folders.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/experiment.h"
#include "spec/sweep.h"

namespace pipesim::spec {

class ParsedFiles;

/// Folders that hold `configs/` and `models/`; searched in order.
struct DataFolders {
  std::vector<std::filesystem::path> roots;
  /// Files that were read with these folders, for further reads; nullptr: each read opens its own.
  std::shared_ptr<ParsedFiles> parsed = nullptr;
};

/// The same folders, and every file, the experiment's too, is opened once. For thousands of readings,
/// from any thread.
DataFolders ReadingOnce(DataFolders folders);

/// One `path = value` from the command line. Later overrides win, and all win over the file.
/// Setting the path of a map or short form (`storage`) replaces it as a whole; setting a path below
/// it
/// (`storage.bandwidth`) keeps its other entries.
struct Override {
  std::string path;   ///< "loader.workers"
  std::string value;  ///< YAML text: "4", "{preset: hdd}"
  std::string flag;   ///< as typed, for errors: "--workers", "--set"
  Origin origin = Origin::kFlag;  ///< differs for values taken from a report
  Place place = {};  ///< of the value, for problems; without a source it is the flag's own
};

struct Request {
  std::optional<std::filesystem::path> file;
  std::vector<Override> overrides;
  bool for_run = false;  ///< reject settings that can only be predicted
  bool files_here = false;  ///< reject a folder of real files that is not on this machine
};

struct ReadResult {
  Experiment experiment;
  std::vector<base::Problem> warnings;  ///< settings without effect (pin_memory without CUDA, ...)
};

/// Throws ConfigError with every problem found, EnvironmentError when a file cannot be read.
ReadResult ReadExperiment(const Request& request, const DataFolders& folders);

/// The axes of the request's file, changed by `typed`, the values of --axis. Nothing else of the
/// experiment is checked: its points may be good where it alone is not. Throws as ReadExperiment.
Sweep ReadAxes(const Request& request, const DataFolders& folders,
               std::span<const std::string> typed, std::span<const ShortKey> short_keys);
/// What makes the experiment that of a point.
std::vector<Override> OverridesAt(const Sweep& sweep, std::size_t point);

/// ReadExperiment from a text instead of a file; `source` is its name in problems.
ReadResult ReadExperimentText(std::string_view yaml, const std::string& source,
                              const std::vector<Override>& overrides, const DataFolders& folders);

}  // namespace pipesim::spec
