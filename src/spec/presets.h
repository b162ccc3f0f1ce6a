// Every storage and device preset of the data folders, as values: what a diagnosis may offer
// instead of the user's own.
#pragma once

#include <vector>

#include "spec/experiment.h"
#include "spec/read.h"

namespace pipesim::spec {

struct Presets {
  std::vector<Storage> storages;     ///< each with its `preset` name
  std::vector<DevicePreset> devices;
};

/// In the order of their names. A file that cannot be read as a preset is left out: it concerns
/// only those who name it.
Presets ReadPresets(const DataFolders& folders);

}  // namespace pipesim::spec
