// A table of keys and a reader per section of the experiment file, both in NAME_section.cc. A reader
// goes from the merged tree into the experiment and checks its own values; checks.h has the checks
// across sections.
#pragma once

#include <span>
#include <vector>

#include "spec/data_files.h"
#include "spec/experiment.h"
#include "spec/key_rule.h"
#include "spec/map_reader.h"
#include "spec/node.h"

namespace pipesim::spec {

/// The parts of a model file other than its layers.
struct ModelInput {
  Node dataset, storage, prepare;  ///< defaults for the model's input; null where not given
  std::vector<Place> layer_places;
  bool good = false;   ///< it has layers
  bool whole = false;  ///< and each of them could be read
};

/// What a model file says, all of which could be read.
struct ModelFile {
  Model model;
  ModelInput input;
};

ModelInput ReadModel(Reading& reading, const DataFiles& files, const Node& section,
                     Experiment& out);
/// `natural`: the model's defaults, overridden by the user's settings.
void ReadStorage(Reading& reading, const DataFiles& files, const Node& section, const Node& natural,
                 Storage& out);
void ReadPrepare(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Prepare& out);
void ReadDataset(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Dataset& out);
void ReadCollate(Reading& reading, const Node& section, Collate& out);
void ReadLoader(Reading& reading, const Node& section, Loader& out);
void ReadLimits(Reading& reading, const Node& section, Limits& out);
void ReadTransfer(Reading& reading, const Node& section, Transfer& out);
void ReadDevice(Reading& reading, const DataFiles& files, const Node& section, Device& out);
void ReadRun(Reading& reading, const Node& section, Run& out);

std::span<const KeyRule> HeadKeys();  ///< version and name; read.cc
std::span<const KeyRule> DatasetKeys();
std::span<const KeyRule> StorageKeys();
std::span<const KeyRule> PrepareKeys();
std::span<const KeyRule> CollateKeys();
std::span<const KeyRule> LoaderKeys();
std::span<const KeyRule> LimitsKeys();
std::span<const KeyRule> TransferKeys();
std::span<const KeyRule> ModelKeys();
std::span<const KeyRule> DeviceKeys();
std::span<const KeyRule> RunKeys();
std::span<const KeyRule> SweepKeys();  ///< sweep.cc

}  // namespace pipesim::spec
