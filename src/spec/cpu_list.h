// `limits.cpus`: auto, a count, or a list of processors.
#pragma once

#include <string>

#include "spec/experiment.h"
#include "spec/map_reader.h"

namespace pipesim::spec {

/// "auto", "4" or "0-3,6"; a sequence of numbers and ranges is read as well.
void ReadCpus(MapReader& reader, Reading& reading, Limits& out);
std::string CpusText(const Limits& limits);

}  // namespace pipesim::spec
