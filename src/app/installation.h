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

/// <exe>/../lib/pipesim/libpipesim_torch.so, if it is there.
std::optional<std::filesystem::path> FindTorchPlugin();

/// $XDG_STATE_HOME/pipesim or ~/.local/state/pipesim; nullopt without either variable.
std::optional<std::filesystem::path> StateFolder();

}  // namespace pipesim::app
