// From what the user wrote (a YAML file, flags, --set) to an Experiment: one tree of texts with
// places, then one reading of it that finds every problem. Finds presets and models in the data
// folders it is given; touches no other file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/experiment.h"

namespace pipesim::spec {

/// Folders that hold `configs/` and `models/`; searched in order.
struct DataFolders {
  std::vector<std::filesystem::path> roots;
};

/// One `path = value` from the command line, in the order given; later wins, and wins over the
/// file. A map or a short form is replaced as a whole when its own path is set (`storage`), and
/// entered when a path below it is (`storage.bandwidth`).
struct Override {
  std::string path;   ///< "loader.workers"
  std::string value;  ///< YAML text: "4", "{preset: hdd}"
  std::string flag;   ///< as typed, for errors: "--workers", "--set"
  Origin origin = Origin::kFlag;  ///< another where the value is taken over from a report
};

struct Request {
  std::optional<std::filesystem::path> file;
  std::vector<Override> overrides;
  bool for_run = false;  ///< what only a prediction can have is a problem
};

struct ReadResult {
  Experiment experiment;
  std::vector<base::Problem> warnings;  ///< legal but pointless (pin_memory without CUDA, ...)
};

/// Throws ConfigError with every problem found, EnvironmentError when a file cannot be read.
ReadResult ReadExperiment(const Request& request, const DataFolders& folders);

/// The same from a text in place of a file; `source` names it in problems.
ReadResult ReadExperimentText(std::string_view yaml, const std::string& source,
                              const std::vector<Override>& overrides, const DataFolders& folders);

/// One key of the experiment file, for help, completion and flags.
struct Key {
  std::string_view path;  ///< "loader.workers"
  std::string_view type;  ///< "count", "duration", "bytes or distribution", "true|false", "a|b|c"
  std::string_view fallback;  ///< the default as text; "auto", "the model's"
  std::string_view help;      ///< one line
};
/// All keys, in the file's order.
const std::vector<Key>& Keys();

/// Names of the presets found, sorted: models, storage, devices.
std::vector<std::string> ModelNames(const DataFolders& folders);
std::vector<std::string> StorageNames(const DataFolders& folders);
std::vector<std::string> DeviceNames(const DataFolders& folders);

}  // namespace pipesim::spec
