// What the probes gained: each block with a change against the block of the run as it was beside it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/interval.h"
#include "trace/probes.h"

namespace pipesim::measure {

struct Result;

struct Tried {
  trace::ProbeKind kind = trace::ProbeKind::kFreeData;
  std::string change;             ///< of a setting: the plan's name of it
  double base_samples_per_s = 0;  ///< of the blocks beside it
  double base_half_width = 0;     ///< of those blocks' mean rate, relative to it
  double samples_per_s = 0;       ///< over all blocks with the change
  double half_width = 0;          ///< of those blocks' mean rate, relative to it
  /// Geometric mean over the pairs of changed / base − 1; where pairs scatter widely, of the blocks
  /// with the change over the measured window.
  double gain = 0;
  Interval gain_interval;  ///< by Student's t over logarithms
};

/// Only probes of at least two pairs: one has no interval. `result`: of the measured window.
std::vector<Tried> TriedIn(const trace::Probes& probes, const Result& result);

/// The rate of the blocks beside a probe over that of the measured window, − 1; nullopt where the window has none.
std::optional<double> DriftOf(const Tried& tried, const Result& result);

/// The blocks beside a probe ran like the measured window, as far as both are known; else the run had changed
/// meanwhile (another epoch, a warm cache), and the probe says nothing about the window. A setting is for the runs that
/// follow: it counts too beside blocks that were faster, which threads on shared cores are at times.
bool SpeaksForTheRun(const Tried& tried, const Result& result);

}  // namespace pipesim::measure
