// One function a section of the experiment file: from its merged tree into the experiment. Each
// checks its own values; what concerns several sections is in checks.h.
#pragma once

#include <vector>

#include "spec/data_files.h"
#include "spec/experiment.h"
#include "spec/map_reader.h"
#include "spec/node.h"

namespace pipesim::spec {

/// What a model file brings beside its layers.
struct ModelInput {
  Node dataset, storage, prepare;  ///< its natural input; null where it names none
  std::vector<Place> layer_places;
  bool good = false;  ///< its layers were read
};

ModelInput ReadModel(Reading& reading, const DataFiles& files, const Node& section,
                     Experiment& out);
/// `natural`: the model's own, under what the user set.
void ReadStorage(Reading& reading, const DataFiles& files, const Node& section, const Node& natural,
                 Storage& out);
void ReadPrepare(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Prepare& out);
void ReadDataset(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Dataset& out);
void ReadLoader(Reading& reading, const Node& section, Loader& out);
void ReadLimits(Reading& reading, const Node& section, Limits& out);
void ReadTransfer(Reading& reading, const Node& section, Transfer& out);
void ReadDevice(Reading& reading, const DataFiles& files, const Node& section, Device& out);
void ReadRun(Reading& reading, const Node& section, Run& out);

}  // namespace pipesim::spec
