// Collects what this machine has for `devices`, `memory` and `bench`.
#pragma once

#include "spec/inventory.h"

namespace pipesim::app {

/// Loads neither LibTorch nor a CUDA context.
spec::Inventory ReadInventory();

}  // namespace pipesim::app
