// The catalogue of the experiment file's keys: what help and completion show, how each value is
// written back, and where a misplaced key was meant to go.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "spec/experiment.h"
#include "spec/map_reader.h"
#include "spec/read.h"

namespace pipesim::spec {

/// The value at `path` as the file would spell it; nullopt where the key says nothing in this
/// experiment (loader.timeout without workers, storage.path of an emulated disk).
std::optional<std::string> SettingText(const Experiment& experiment, std::string_view path);

/// Every key's text and origin. An experiment read from these texts has the same texts.
std::map<std::string, Experiment::Setting> SettingsOf(const Experiment& experiment,
                                                      const Reading& reading);

/// For an unknown `key` in the map at `path`: the key it is called here, or the full path of the
/// key of that name elsewhere; empty when there is none.
std::string MeantKey(std::string_view path, std::string_view key);

}  // namespace pipesim::spec
