// Measures what the parts of a pipeline cost on this machine: each figure of a machine profile
// comes from short runs of the real pipeline, or from a separate loop where no run shows it.
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
  /// Gives device, precision, optimizer, batch size and limits; the device must be chosen.
  spec::Experiment experiment;
  std::vector<std::string> models;              ///< the models whose steps are measured
  std::optional<std::filesystem::path> folder;  ///< of JPEGs: storage is measured on it
  spec::DataFolders data;                       ///< where models and presets are
  // Written into the profile:
  std::string program;  ///< "0.1.0 (a1b2c3d)"
  std::string date;     ///< "2026-01-31"
  std::string gpu;      ///< the name of the experiment's GPU; empty where the CPU trains
};

struct Control {
  Runner runner;
  const base::StopFlag* stop = nullptr;
  /// What is being measured, and the share of all measurements completed.
  std::function<void(std::string_view doing, double share)> on_progress;
};

/// Makes every measurement three times, in rounds, so that a noisy minute is spread over all
/// figures, and takes the median. Takes a few minutes. nullopt when `stop` was set. Throws
/// base::ConfigError for a model that cannot be read, base::EnvironmentError for a folder without
/// samples.
std::optional<spec::MachineProfile> MeasureMachine(const Plan& plan, const Control& control);

/// Sets the figure `key` to the median of `values`, with their spread. False: there is no such figure,
/// or no value.
bool SetMeasured(spec::MachineFigures& figures, std::string_view key,
                 const std::vector<double>& values, const std::string& how);

/// `older`, with its figures and steps replaced by those that `newer` also has.
spec::MachineProfile Merged(spec::MachineProfile older, const spec::MachineProfile& newer);

}  // namespace pipesim::calibrate
