// Reading experiments in tests, with the project's own data folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "spec/keys.h"
#include "spec/read.h"

namespace pipesim::spec {

inline DataFolders ProjectFolders() { return {{std::filesystem::path(PIPESIM_SOURCE_DIR)}}; }

inline Experiment Read(const std::string& yaml, const std::vector<Override>& overrides = {}) {
  return ReadExperimentText(yaml, "test.yaml", overrides, ProjectFolders()).experiment;
}

inline std::vector<base::Problem> ProblemsOf(const std::string& yaml,
                                             const std::vector<Override>& overrides = {}) {
  try {
    Read(yaml, overrides);
  } catch (const base::ConfigError& error) {
    return error.problems();
  }
  return {};
}

inline Override Set(const std::string& path, const std::string& value) {
  return {path, value, "--set"};
}

/// The settings as equivalent overrides.
inline std::vector<Override> AsOverrides(const Experiment& experiment) {
  std::vector<Override> overrides;
  for (const auto& [path, setting] : experiment.settings)
    overrides.push_back(Set(path, setting.text));
  return overrides;
}

inline std::vector<std::pair<std::string, std::string>> TextsOf(const Experiment& experiment) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [path, setting] : experiment.settings) texts.emplace_back(path, setting.text);
  return texts;
}

}  // namespace pipesim::spec
