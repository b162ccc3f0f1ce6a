// Writes a DLIO workload as an experiment with the benchmark's own semantics: ranks that meet after
// every step, prefetching as DLIO computes it, storage shared by many readers.
#pragma once

#include <string>

#include "interop/dlio.h"

namespace pipesim::interop {

/// The experiment file, with comments on what the workload does not say. `source`: its file. Throws
/// base::ConfigError where the data set has no step for every accelerator.
std::string ExperimentText(const DlioWorkload& workload, int accelerators,
                           const std::string& source);

}  // namespace pipesim::interop
