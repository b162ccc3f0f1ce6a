// Where the time of the window went: three partitions on three clocks, each with its rest shown.
// The states are added up as they were recorded, the wall time comes from the window alone, so a
// state that was never recorded shows in `other_s`.
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
