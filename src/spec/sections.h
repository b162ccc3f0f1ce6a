// One function per section of the experiment file, from its merged tree into the experiment. Each
// checks its own values; checks.h has the checks across sections.
#pragma once

#include <vector>

#include "spec/data_files.h"
#include "spec/experiment.h"
#include "spec/map_reader.h"
#include "spec/node.h"

namespace pipesim::spec {

/// The parts of a model file other than its layers.
struct ModelInput {
  Node dataset, storage, prepare;  ///< defaults for the model's input; null where not given
  std::vector<Place> layer_places;
  bool good = false;  ///< its layers were read
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
void ReadLoader(Reading& reading, const Node& section, Loader& out);
void ReadLimits(Reading& reading, const Node& section, Limits& out);
void ReadTransfer(Reading& reading, const Node& section, Transfer& out);
void ReadDevice(Reading& reading, const DataFiles& files, const Node& section, Device& out);
void ReadRun(Reading& reading, const Node& section, Run& out);

}  // namespace pipesim::spec
