// The catalogue of the experiment file's keys: help and completion texts, how each value is written
// back, and suggestions for misplaced keys.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/experiment.h"
#include "spec/map_reader.h"

namespace pipesim::spec {

/// One key of the experiment file, for help, completion and flags.
struct Key {
  std::string_view path;  ///< "loader.workers"
  std::string_view type;  ///< "count", "duration", "bytes or distribution", "true|false", "a|b|c"
  std::string_view fallback;  ///< the default as text; "auto", "the model's"
  std::string_view help;      ///< one line
};
/// All keys, in the file's order.
const std::vector<Key>& Keys();

/// The value at `path` as YAML; nullopt where the key does not apply to this experiment
/// (loader.timeout without workers, storage.path of an emulated disk).
std::optional<std::string> SettingText(const Experiment& experiment, std::string_view path);

/// Every key's text and origin. An experiment read from these texts has the same texts.
std::map<std::string, Experiment::Setting> SettingsOf(const Experiment& experiment,
                                                      const Reading& reading);

/// A suggestion for an unknown `key` in the map at `path`: our name for it, or the full path of the
/// same key elsewhere; empty when there is none.
std::string MeantKey(std::string_view path, std::string_view key);

}  // namespace pipesim::spec
