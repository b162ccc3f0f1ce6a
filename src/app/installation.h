// Finds the program's data files: models, configs, the LibTorch plugin. Works in the build tree
// and after `cmake --install`, wherever the folder was moved to.
#pragma once

#include <filesystem>
#include <optional>

#include "spec/read.h"

namespace pipesim::app {

/// $PIPESIM_DATA_DIR if set, <exe>/../share/pipesim, then the source tree it was built from. Only
/// folders that exist.
spec::DataFolders FindDataFolders();

/// The running program; empty where /proc is missing.
std::filesystem::path ProgramFile();

/// The folder that holds the Python package `pipesim` where it came with the program; nullopt: pip put it
/// where Python looks anyway, or it is missing.
std::optional<std::filesystem::path> FindPythonPackage();

/// <exe>/../lib/pipesim/libpipesim_torch.so, if it is there.
std::optional<std::filesystem::path> FindTorchPlugin();

/// $XDG_STATE_HOME/pipesim or ~/.local/state/pipesim; nullopt without either variable.
std::optional<std::filesystem::path> StateFolder();

}  // namespace pipesim::app
