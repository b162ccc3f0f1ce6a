// Reads a trace of PyTorch's profiler (Chrome trace JSON, plain or gzip) in one pass and in bounded
// memory, into what it says about training steps. Names are those of torch 2.x and kineto: steps are
// ProfilerStep#N, waiting for data is enumerate(DataLoader)#..., cat kernel and gpu_memcpy are the
// device's own times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace pipesim::interop {

/// Sums over the whole steps of the trace, the first 4,096: the host's, or the device's where the host
/// ran ahead of it.
struct TraceSummary {
  std::int64_t events = 0;
  std::int64_t steps = 0;
  bool steps_are_named = false;  ///< ProfilerStep#N; else from one batch to the next
  double wall_s = 0;             ///< of those steps
  double loader_s = 0;           ///< the host waits for a batch
  std::string loader;            ///< "_MultiProcessingDataLoaderIter"; empty: no DataLoader was seen

  // Device; kernels = 0 where only the CPU was recorded, or trains.
  std::string device_name;  ///< empty: not in the trace
  std::int64_t kernels = 0, copies = 0, host_syncs = 0;
  double copied_bytes = 0;        ///< to the device
  bool pageable = false;          ///< some of it from pageable memory
  double busy_s = 0;              ///< kernels
  double idle_s = 0;              ///< neither kernels nor copies
  double copying_s = 0;           ///< copies to the device while no kernel runs
  double starved_s = 0;           ///< idle while the host waits for a batch
  double sync_s = 0;              ///< the host waits for the device

  /// Why it says less than it could; empty: it is whole. "breaks off after 12,345 events".
  std::string broken;
};

/// Throws base::EnvironmentError when the file cannot be read, base::ConfigError when it is no trace,
/// or too little of one: it needs two whole steps.
TraceSummary ReadProfilerTrace(const std::filesystem::path& file);

/// By its name (.json, .gz), else it is packed or larger than any workload. False where it cannot
/// be read.
bool LooksLikeTrace(const std::filesystem::path& file);

}  // namespace pipesim::interop
