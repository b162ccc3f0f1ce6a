// Runs the built pipesim as a user would, and keeps what it said. For tests of whole commands.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace pipesim::support {

struct CommandResult {
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string out, err;
};

struct CommandOptions {
  std::filesystem::path folder{};                ///< working folder; empty: the test's own
  std::vector<std::string> environment{};        ///< "NAME=value"
  std::function<void(int pid)> while_running{};  ///< called once it has started
  std::function<void()> before{};                ///< in its process, before it is pipesim
  std::filesystem::path out{};                   ///< stdout goes there; empty: into the result
  std::chrono::seconds limit{60};              ///< it is ended after this
};

/// Runs `pipesim words...`; its kept runs go to a folder of the test's own.
CommandResult RunPipesim(const std::vector<std::string>& words, const CommandOptions& options = {});

/// The process in which the pipesim of process `pid` runs its experiment; waits until there is one.
int RunProcessOf(int pid);

/// A folder of this test's own, empty at its first use, removed at the end of the program.
std::filesystem::path TestFolder();

}  // namespace pipesim::support
