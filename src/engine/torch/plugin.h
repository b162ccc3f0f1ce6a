// The interface of libpipesim_torch.so, free of LibTorch's headers. The app loads the library when
// a command needs it, after setting affinity and OMP variables.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/batch_memory.h"
#include "engine/bench_loop.h"
#include "engine/stage_marks.h"
#include "engine/trainer.h"
#include "spec/experiment.h"

namespace pipesim::engine {

struct TorchDevice {
  std::string name;         ///< "cuda:0"
  std::string device_name;  ///< "NVIDIA H200"
  base::Bytes memory;
  base::Bytes memory_free;   ///< for this process: with what LibTorch's allocator keeps for reuse
  int capability_major = 0, capability_minor = 0;
  std::string pci_bus_id{};  ///< "0000:1a:00.0"; NVML may number devices differently
};

/// The plugin's functions, exported as kTorchPluginSymbol. Both sides must come from the same
/// compiler and sources (kTorchPluginVersion is checked).
struct TorchPlugin {
  int version = 0;
  std::string libtorch_version;
  std::vector<TorchDevice> (*devices)() = nullptr;
  /// The experiment's device must be kCpu or kCuda; `compute_threads` >= 1. Throws OutOfMemory,
  /// EnvironmentError (no such device), std::invalid_argument (a layer does not fit).
  std::unique_ptr<Trainer> (*make_trainer)(const spec::Experiment&, const base::Clock&,
                                           int compute_threads) = nullptr;
  /// Page-locked host memory; throws EnvironmentError without CUDA.
  std::unique_ptr<BatchMemory> (*make_pinned_memory)() = nullptr;
  /// Throws OutOfMemory, EnvironmentError (no such device).
  std::unique_ptr<BenchLoop> (*make_bench_loop)(const BenchRequest&) = nullptr;
  /// NVTX ranges in the domain "pipesim"; throws EnvironmentError where its headers were missing at the build.
  const StageMarks* (*stage_marks)() = nullptr;
  /// What LibTorch has warned of since the last call, each text once. Thread-safe.
  std::vector<std::string> (*take_warnings)() = nullptr;
};
inline constexpr int kTorchPluginVersion = 4;
inline constexpr const char* kTorchPluginSymbol = "PipesimTorchPlugin";  ///< TorchPlugin (*)()

}  // namespace pipesim::engine
