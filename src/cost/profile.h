// From a machine profile to the parts of a pipeline. Chooses and converts; measures nothing.
#pragma once

#include <optional>
#include <vector>

#include "cost/pipeline.h"
#include "spec/experiment.h"
#include "spec/machine_profile.h"

namespace pipesim::cost {

/// A figure's value; nullopt where the profile lacks it.
template <class T>
std::optional<T> ValueOf(const spec::MaybeFigure<T>& figure) {
  if (!figure) return std::nullopt;
  return figure->value;
}
/// What the profile lacks costs nothing.
inline base::Duration DurationOf(const spec::MaybeFigure<base::Duration>& figure) {
  return ValueOf(figure).value_or(base::Duration::zero());
}

/// Puts the profile's figures of the host into `pipeline`: threads, collating, pinning, the
/// training loop's own work, worker processes. What the profile lacks costs nothing; `machine.cores` stays unchanged.
void SetHost(const spec::MachineProfile& profile, const spec::Experiment& experiment,
             Pipeline& pipeline);

/// Of those, only what happens to a trainer's threads that wait at a barrier, which a run does not
/// measure.
void SetWaiting(const spec::MachineFigures& figures, Machine& machine);

/// The profile's steps of exactly this training: model, sample shape, precision, optimizer,
/// `device` and `threads`, one after another. Ascending; empty when it has none.
std::vector<spec::StepPoint> StepsOf(const spec::MachineProfile& profile,
                                     const spec::Experiment& experiment, spec::DeviceId device,
                                     int threads);
/// How much longer the CPU's steps of this training take after a pause: the mean over the batch sizes
/// that the profile has after pauses and without; differences of single ones are about as large as
/// their noise. No longer pause takes less. Ascending; empty: unknown.
std::vector<PausedStep> StepsAfterPauses(const spec::MachineProfile& profile,
                                         const spec::Experiment& experiment, int threads);
/// The fewest threads above `threads` (> 1) on which the CPU's steps of this training were measured;
/// 0: none.
int MoreThreadsMeasured(const spec::MachineProfile& profile, const spec::Experiment& experiment,
                        int threads);

/// Adds to the step of several threads what fewer of them take by the profile.
void AddFewerThreads(const spec::MachineProfile& profile, const spec::Experiment& experiment, Step& step);
/// The same by CpuAsDevice, for the numbers of threads that were not measured: an estimated step of the profile's.
void EstimateFewerThreads(const spec::MachineProfile& profile, const spec::Experiment& experiment, Step& step);

/// The profile's CPU with `threads` of its cores as a device for the roofline: dense products as
/// fast as they were measured. Speed is interpolated linearly between one core and all cores, and
/// grows by one core's speed beyond. nullopt where the profile lacks fp32_gflops or
/// memory_bandwidth.
std::optional<spec::DevicePreset> CpuAsDevice(const spec::MachineProfile& profile, int threads);

/// Puts the profile's GPU `device` into `pipeline`, except for the step's time: launches (those
/// measured with the training's steps, else by its kernels), the kernels' wait for them, copies,
/// memory, name.
void SetGpu(const spec::MachineProfile& profile, const spec::Experiment& experiment,
            spec::DeviceId device, Pipeline& pipeline);

}  // namespace pipesim::cost
