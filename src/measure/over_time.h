// A run in equal slices of time, warm-up included: what charts over time show. No verdict uses it.
#pragma once

#include <optional>
#include <vector>

#include "trace/run_trace.h"

namespace pipesim::measure {

/// Points of a line that is as wide as a page; a report stays small.
inline constexpr std::size_t kMostSlices = 120;
/// More marks than this would hide the lines.
inline constexpr std::size_t kMostEpochMarks = 40;

/// Slice i covers [i, i + 1) × slice_s from the run's begin. One value a slice; nullopt where it is
/// not known. With several accelerators, of the first one; cores and storage of all.
struct OverTime {
  using Line = std::vector<std::optional<double>>;

  double slice_s = 0;
  Line samples_per_s;  ///< trained on
  /// Share of the slice; the CPU where it trains. Of a real GPU without the gaps between the kernels of
  /// a step, as far as a step alone is known.
  Line device_busy;
  Line starved;        ///< share of the slice that the consumer waited for a batch
  Line occupancy;      ///< mean batches ready when one was taken
  Line cores_used;     ///< by this process
  Line storage_bytes_per_s;
  /// The GPU that trains, as NVML shows it: used by all programs.
  struct Gpu {
    Line utilization, memory_bytes, power_w, sm_clock_mhz, memory_clock_mhz;
  };
  std::optional<Gpu> gpu;  ///< nullopt: nothing could be read
  /// Of the second epoch and later ones; empty with more than kMostEpochMarks.
  std::vector<double> epoch_begins_s;
};

/// At most kMostSlices, and at most one a step. nullopt for a run without a step. `batch_size`: samples
/// of a full step.
std::optional<OverTime> OverTimeOf(const trace::RunTrace& trace, std::int64_t batch_size);

}  // namespace pipesim::measure
