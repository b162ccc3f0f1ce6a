// Experiments that the tests of several commands share, as flags.
#pragma once

#include <string>
#include <vector>

namespace pipesim::support {

/// Workers wait 2 ms a sample and hold no core: 32 ms for a batch of 16, of which a step takes 8.
inline const std::vector<std::string> kWaitingLoader = {"--batch",   "16",
                                                        "--storage", "none",
                                                        "--set",     "prepare={kind: wait, cost: 2ms}",
                                                        "--set",     "device={emulated: {base: 8ms}}"};

}  // namespace pipesim::support
