// Where the window's time went: three partitions, each on its own clock. States are added up as
// recorded, and the wall time is the window's, so a state that was not recorded shows in `other_s`.
#pragma once

#include "measure/measurement.h"

namespace pipesim::measure {

Consumer ConsumerTime(const trace::RunTrace& trace, const Window& window,
                      const spec::Experiment& experiment);
/// nullopt when the device has no clock of its own (synchronous) or recorded nothing.
std::optional<Device> DeviceTime(const trace::RunTrace& trace, const Window& window,
                                 const spec::Experiment& experiment);
Workers WorkersTime(const trace::RunTrace& trace, const Window& window,
                    const spec::Experiment& experiment);
/// nullopt without a pin thread.
std::optional<Pin> PinTime(const trace::RunTrace& trace, const Window& window);

/// Device busy / wall; the consumer's compute / wall where the device is synchronous. nullopt where
/// busy and launch gaps could not be told apart.
std::optional<double> AcceleratorUtilization(const trace::RunTrace& trace, const Consumer& consumer,
                                             const std::optional<Device>& device);

}  // namespace pipesim::measure
