// A kept report as the ground of a prediction: the experiment that ran, and what its parts were
// measured to ask. Reads the document; predicts nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "spec/read.h"

namespace pipesim::app {

/// Demands are seconds of one batch of `batch_samples`; nullopt where the report has none.
struct MeasuredRun {
  std::string source;  ///< the report's file
  /// The settings that the report's user made (and what was counted in a folder of samples), with
  /// their origins: read again, they give its experiment. Defaults, models and presets come from
  /// this program's own.
  std::vector<spec::Override> settings;
  std::map<std::string, std::string> texts;  ///< every setting of the run as the report spells it

  spec::DeviceId device;    ///< not chosen: the report names none
  std::string device_name;  ///< "NVIDIA H200"
  int compute_threads = 0;  ///< 0: unknown
  bool pinned = false;
  std::optional<double> cores;
  std::optional<double> device_memory_bytes;

  double batch_samples = 0;
  double reads = 0;
  std::optional<double> step_s, prepare_cpu_s, collate_s, pin_s, h2d_s, host_s, read_s;

  /// Whether `experiment` says the same as the run in all settings at or below these paths.
  bool SameIn(const spec::Experiment& experiment, const std::vector<std::string>& paths) const;
};

/// Throws base::EnvironmentError when the file is no report of a run, or lacks its experiment.
MeasuredRun ReadMeasuredRun(const std::string& file);

}  // namespace pipesim::app
