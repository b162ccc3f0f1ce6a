// From a machine profile to the costs that a virtual run needs. Chooses and converts; measures
// nothing.
#pragma once

#include <optional>
#include <vector>

#include "cost/machine.h"
#include "spec/experiment.h"
#include "spec/machine_profile.h"

namespace pipesim::cost {

/// What the profile knows; what it does not is free, as cost::Machine says. `cores` stays 0.
Machine MachineOf(const spec::MachineFigures& figures);

/// The profile's steps of this very training: model, sample shape, precision, optimizer, `device`
/// and `threads`. Ascending; empty when it has none.
std::vector<spec::StepPoint> StepsOf(const spec::MachineProfile& profile,
                                     const spec::Experiment& experiment, spec::DeviceId device,
                                     int threads);

/// The profile's CPU with `threads` of its cores as a device for the roofline: dense products as
/// fast as they were measured. Between one core and all of them speed goes linearly, beyond them on
/// at the rate of a core. nullopt where the profile lacks fp32_gflops or memory_bandwidth.
std::optional<spec::DevicePreset> CpuAsDevice(const spec::MachineProfile& profile, int threads);

/// The profile's GPU as far as it is not the step: launches, copies, memory. nullopt without
/// figures of a GPU.
std::optional<spec::DevicePreset> GpuOf(const spec::MachineProfile& profile);

}  // namespace pipesim::cost
