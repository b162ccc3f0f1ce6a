// Short runs of the real pipeline that each measure one part. Each call is one measurement; nullopt
// when the run did not yield it (out of memory, no such device).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/measurement.h"
#include "spec/experiment.h"
#include "spec/read.h"

namespace pipesim::calibrate {

/// A training step: on the device, and on the host beside it.
struct StepTimes {
  double step_s = 0, host_s = 0;
  double gap_s = 0;  ///< a GPU: its kernels wait for their launches (measure::LaunchGap)
};

/// Runs the experiments.
struct Runner {
  /// Runs in this process; nullopt: the run did not finish.
  std::function<std::optional<measure::Measurement>(spec::Experiment)> here;
  /// Runs a default experiment with these changes in a child process; nullopt: it did not finish.
  std::function<std::optional<StepTimes>(const std::vector<spec::Override>&)> apart;
};

/// `model` with its natural input, everything else by default. Throws base::ConfigError.
spec::Experiment ExperimentOf(const std::string& model, const spec::DataFolders& folders);

/// Runs variations of one experiment: its device, precision, optimizer and limits.
class ProbeRuns {
 public:
  /// All must outlive it.
  ProbeRuns(const spec::Experiment& base, const spec::DataFolders& folders, const Runner& runner,
            const base::StopFlag* stop)
      : base_(base), folders_(folders), runner_(runner), stop_(stop) {}

  /// Bytes that `workers` together copy into batches per second of one worker's CPU time.
  std::optional<double> CollateBytesPerSecond(int workers) const;
  /// Bytes per second of page faults in newly mapped memory, the copy itself excluded.
  std::optional<double> FaultBytesPerSecond() const;
  /// The fixed cost of collating a batch: 64 samples of one byte.
  std::optional<double> CollateBatchSeconds() const;

  struct Decoding {
    std::optional<double> read_bytes_per_s, decoded_bytes_per_s;
  };
  /// Stored JPEG bytes per second of CPU time, with the files in the page cache.
  std::optional<Decoding> DecodeFiles(const std::filesystem::path& folder) const;
  struct Reading {
    double latency_s = 0, bytes_per_s = 0;
  };
  /// Files that are not in the page cache: one reader for the latency, sixteen for the bandwidth.
  std::optional<Reading> ColdReading(const std::filesystem::path& folder) const;

  /// A step of `model` on the experiment's device; it is expected to take about `expected_s` (0:
  /// short). If the CPU trains, it runs in a child process like every run, since the state of the
  /// allocator shows in the step's time. With a `pause` the CPU burns for that long before each step.
  std::optional<StepTimes> StepOf(const std::string& model, int threads, std::int64_t batch,
                                  double expected_s, base::Duration pause = {}) const;
  /// CPU time that each other thread of LibTorch's pool spends after a step when the next step is
  /// 20 ms away.
  std::optional<double> PoolSpinSeconds() const;
  /// FLOPs per second of a training step of wide linear layers on `threads` threads of the CPU.
  std::optional<double> DenseFlopsPerSecond(int threads) const;

  struct Copying {
    double h2d_latency_s = 0, h2d_bytes_per_s = 0, h2d_pageable_bytes_per_s = 0;
    double pin_bytes_per_s = 0, memory_bytes = 0;
  };
  /// Copies to the experiment's GPU from page-locked memory, and from pageable memory.
  std::optional<Copying> CopyToDevice() const;

 private:
  std::optional<measure::Measurement> Run(const std::vector<spec::Override>& changes) const;

  spec::Experiment Changed(const std::vector<spec::Override>& changes) const;

  const spec::Experiment& base_;
  const spec::DataFolders& folders_;
  const Runner& runner_;
  const base::StopFlag* stop_;
};

}  // namespace pipesim::calibrate
