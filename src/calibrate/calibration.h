// What this machine's parts cost, measured: each figure of a machine profile by the code that a run
// spends it in (short runs of the real pipeline), or by a loop of its own where no run shows it.
// Decides what to measure and in which order; writes no file and prints nothing.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "calibrate/runs.h"
#include "spec/experiment.h"
#include "spec/machine_profile.h"

namespace pipesim::calibrate {

struct Plan {
  /// Whose device, precision, optimizer, batch size and limits are meant, all of them chosen.
  spec::Experiment experiment;
  std::vector<std::string> models;              ///< whose steps are measured
  std::optional<std::filesystem::path> folder;  ///< of JPEGs: storage is measured on it
  spec::DataFolders data;                       ///< where models and presets are
  // For the profile to say:
  std::string program;  ///< "0.1.0 (a1b2c3d)"
  std::string date;     ///< "2026-01-31"
  std::string gpu;      ///< the name of the experiment's GPU; empty where the CPU trains
};

struct Control {
  Runner runner;
  const base::StopFlag* stop = nullptr;
  /// What is being measured, and the share of all measurements that is done.
  std::function<void(std::string_view doing, double share)> on_progress;
};

/// Every measurement is made three times in turns, so that a noisy minute does not hit one figure
/// alone; the median counts. A few minutes. nullopt when `stop` was set. Throws base::ConfigError
/// for a model that cannot be read, base::EnvironmentError for a folder without samples.
std::optional<spec::MachineProfile> MeasureMachine(const Plan& plan, const Control& control);

/// `older` with what `newer` measured in place of the same figures and steps.
spec::MachineProfile Merged(spec::MachineProfile older, const spec::MachineProfile& newer);

}  // namespace pipesim::calibrate
