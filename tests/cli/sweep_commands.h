// `pipesim sweep` as the tests call it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/command.h"
#include "support/experiments.h"

namespace pipesim::tests {

/// In a folder of the test, so that journals lie there.
inline support::CommandResult Sweep(std::vector<std::string> words, support::CommandOptions options = {}) {
  words.insert(words.begin(), "sweep");
  if (options.folder.empty()) options.folder = support::TestFolder();
  return support::RunPipesim(words, options);
}

inline std::vector<std::string> Waiting(std::vector<std::string> words) {
  words.insert(words.end(), support::kWaitingLoader.begin(), support::kWaitingLoader.end());
  return words;
}

inline std::string Journal(const std::string& name) {
  const std::filesystem::path file = support::TestFolder() / (name + ".jsonl");
  std::filesystem::remove(file);
  return file.string();
}

}  // namespace pipesim::tests
