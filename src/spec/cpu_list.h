// `limits.cpus`: auto, a count, or a list of processors.
#pragma once

#include <string>
#include <vector>

#include "spec/experiment.h"
#include "spec/map_reader.h"

namespace pipesim::spec {

/// Accepts "auto", "4", "0-3,6", or a sequence of numbers and ranges.
void ReadCpus(MapReader& reader, Reading& reading, Limits& out);
/// As the file has it; a list in quotes.
std::string CpusText(const Limits& limits);
/// "0-3,6" of ascending processors; of a single one "3-3", since a bare number is a count.
std::string CpuRangesText(const std::vector<int>& cpus);

}  // namespace pipesim::spec
