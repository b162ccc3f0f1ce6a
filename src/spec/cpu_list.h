// `limits.cpus`: auto, a count, or a list of processors.
#pragma once

#include <string>

#include "spec/experiment.h"
#include "spec/map_reader.h"

namespace pipesim::spec {

/// Accepts "auto", "4", "0-3,6", or a sequence of numbers and ranges.
void ReadCpus(MapReader& reader, Reading& reading, Limits& out);
std::string CpusText(const Limits& limits);

}  // namespace pipesim::spec
