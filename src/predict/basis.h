// The inputs of a prediction besides the experiment: a machine profile, a measured run, this
// machine. Plain data; the files are read elsewhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/memory.h"
#include "spec/machine_profile.h"
#include "spec/presets.h"
#include "spec/read.h"

namespace pipesim::predict {

/// A finished run, as its report keeps it: the experiment, and the measured demands of its parts.
/// Demands are seconds of one batch of `batch_samples`; nullopt where the report has none.
struct MeasuredRun {
  std::string source;  ///< the report's file
  /// The user's settings in the report (and the counts of a folder of samples), with their origins:
  /// read again, they give the same experiment. Defaults, models and presets are this program's.
  std::vector<spec::Override> settings;
  std::map<std::string, std::string> texts;  ///< every setting of the run as the report spells it

  spec::DeviceId device;    ///< not chosen: the report names none
  std::string device_name;  ///< "NVIDIA H200"
  int compute_threads = 0;  ///< 0: unknown
  bool pinned = false;
  std::optional<double> cores;
  std::optional<double> foreign_cores;  ///< of these, what other programs used
  std::optional<double> device_memory_bytes;

  double batch_samples = 0;
  double reads = 0;
  std::optional<double> copying_bytes_per_s;  ///< of all cores together, where they limit
  std::optional<double> step_s, prepare_cpu_s, collate_s, pin_s, h2d_s, host_s, read_s;

  /// Whether `experiment` says the same as the run in all settings at or below these paths.
  bool SameIn(const spec::Experiment& experiment, const std::vector<std::string>& paths) const;
};

struct Basis {
  spec::MachineProfile profile;
  /// The user named the profile, so its cores and memory apply, not this machine's.
  bool profile_is_named = false;
  std::optional<MeasuredRun> run;  ///< its demands come before the profile's figures
  spec::Presets presets;  ///< what the diagnosis may offer
  double cores_here = 1;
  std::vector<base::MemoryBound> memory_here;
  /// Of one core, for one repeat of automatic length; a search of many predictions takes less.
  double longest_s = 0.5;
  /// A prediction ends once its throughput is this exact (95 % half-width over the mean), whatever
  /// length it was asked for; nullopt: only at its length.
  std::optional<double> precision = {};
};

}  // namespace pipesim::predict
