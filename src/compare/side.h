// What is compared: each side as plain data, read from a report or made by runs. A run is a side of
// one point, a sweep one of many.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/estimate.h"

namespace pipesim::compare {

/// Keys of the experiment file and their values.
using Settings = std::map<std::string, std::string>;

/// A time of one step, or of one sample.
struct Stage {
  std::string name;  ///< "starved"
  double seconds = 0;
};

/// Where a step's time goes, on one clock. The stages add up to the step.
struct Partition {
  std::string clock;              ///< "consumer", or that of the device
  double steps = 0, samples = 0;  ///< that the times below were measured over
  std::vector<Stage> total;       ///< over all those steps
};

/// A change that a report predicted: keys, values and the rate.
struct Promise {
  Settings set;
  double samples_per_s = 0;
};

struct Point {
  Settings at;                   ///< values of the sweep's axes; empty for a run
  /// Those that the axes' values bring with them, and their origins; what all points share is in the side.
  Settings settings;
  std::map<std::string, std::string> origins;
  std::string name;              ///< "workers 2 batch 256"; empty for a run
  std::optional<Estimate> rate;  ///< nullopt: it failed
  std::string failure;
  std::optional<double> step_time_s, accelerator_utilization;
  std::string bottleneck, confidence;
  std::vector<Partition> partitions;
  std::vector<Stage> demands;  ///< what a sample asks of each part, without waiting
  std::vector<Promise> promises;
};

struct Side {
  std::string name;  ///< the file as typed
  bool is_sweep = false, predicted = false;
  std::vector<std::pair<std::string, std::string>> axes;  ///< key and short name
  Settings settings;                                      ///< that all points share, without the axes' keys
  std::map<std::string, std::string> origins;             ///< of settings: "file", "preset", ...
  /// What should be alike: "machine", "version", ... and the words for it.
  std::map<std::string, std::string> circumstances;
  std::vector<std::string> disturbances;  ///< what made it doubtful, as sentences
  /// Why a sweep lacks points, as a verb: "was interrupted", "is shard 2 of 3"; empty: it is whole.
  std::string why_partial;
  std::vector<Point> points;
};

}  // namespace pipesim::compare
