// Where the figures of a pipeline's part come from.
#pragma once

#include <cstdint>

namespace pipesim::cost {

enum class Source : std::uint8_t {
  kFree,      ///< nothing is known or stated: it costs nothing
  kStated,    ///< by the experiment, presets included
  kEstimated, ///< from the model's layers and a device's figures
  kProfile,   ///< measured on a machine, kept in its profile
  kRun,       ///< measured in a run
};

}  // namespace pipesim::cost
