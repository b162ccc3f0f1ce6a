// Runs the built pipesim as a user would and captures its output. For tests of whole commands.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/sanitized.h"

namespace pipesim::support {

struct CommandResult {
  int exit_code = -1;  ///< 128 + signal when killed by a signal
  std::string out, err;
};

struct CommandOptions {
  std::filesystem::path folder{};                ///< working folder; empty: the test's own
  std::vector<std::string> environment{};        ///< "NAME=value"
  std::function<void(int pid)> while_running{};  ///< called once it has started
  std::function<void()> before{};                ///< called in the child before exec
  std::filesystem::path out{};                   ///< file for stdout; empty: into the result
  /// It is killed after this. Under sanitizers a loaded machine takes a minute for what is ordinary.
  std::chrono::seconds limit{kSanitized ? 180 : 60};
};

/// Runs `pipesim words...`; saves runs in a temporary folder of the test.
CommandResult RunPipesim(const std::vector<std::string>& words, const CommandOptions& options = {});

/// The child in which the pipesim of process `pid` runs an experiment; waits until it exists and is another
/// one than `last`. Throws if pipesim ends before.
int RunProcessOf(int pid, int last = 0);

/// Waits until process `pid` has a handler for `signal`: until then it would end the process. The parent of a run
/// has none, it calls sigwait; it is ready once its run exists.
void UntilItHandles(int pid, int signal);

/// The whole file, as bytes; empty if it cannot be read.
std::string ContentOf(const std::filesystem::path& file);

/// A temporary folder of this test, empty at first use, removed when the program ends.
std::filesystem::path TestFolder();

}  // namespace pipesim::support
