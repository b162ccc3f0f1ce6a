// Opens libpipesim_torch.so when a command needs it: it costs 0.3 s and 470 MB, and OMP variables
// and affinity must be set before.
#pragma once

#include "engine/torch/plugin.h"

namespace pipesim::app {

/// Throws base::EnvironmentError saying what is missing and what to do. The library stays open.
const engine::TorchPlugin& LoadTorch();

}  // namespace pipesim::app
