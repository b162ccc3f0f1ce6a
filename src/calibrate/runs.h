// Short runs of the real pipeline, each of which shows one part of it. Each call is one
// measurement; nullopt where the run did not show it (out of memory, no such device).
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
};

/// Who runs the experiments.
struct Runner {
  /// In this process; nullopt: it did not finish.
  std::function<std::optional<measure::Measurement>(spec::Experiment)> here;
  /// A default experiment with these changes, in a process of its own; nullopt: it did not finish.
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

  /// Bytes a second that `workers` together copy into batches, in the CPU time that it takes one.
  std::optional<double> CollateBytesPerSecond(int workers) const;
  /// The same, each batch in newly mapped memory, the copy itself left out.
  std::optional<double> FaultBytesPerSecond() const;
  /// Of collating a batch whatever its size: 64 samples of a byte.
  std::optional<double> CollateBatchSeconds() const;

  struct Decoding {
    std::optional<double> read_bytes_per_s, decoded_bytes_per_s;
  };
  /// Stored bytes of JPEG a second of CPU time, files in the page cache.
  std::optional<Decoding> DecodeFiles(const std::filesystem::path& folder) const;
  struct Reading {
    double latency_s = 0, bytes_per_s = 0;
  };
  /// Files that are not in the page cache: one reader for the latency, sixteen for the bandwidth.
  std::optional<Reading> ColdReading(const std::filesystem::path& folder) const;

  /// Of `model` on the experiment's device, where a step takes about `expected_s` (0: a little).
  /// Where the CPU trains, in a process of its own as every run is: what an allocator has served
  /// before shows in a step.
  std::optional<StepTimes> StepOf(const std::string& model, int threads, std::int64_t batch,
                                  double expected_s) const;
  /// CPU time of each other thread of LibTorch's pool beyond the step, where the next is 20 ms
  /// away.
  std::optional<double> PoolSpinSeconds() const;
  /// FLOPs a second of a training step of wide linear layers on `threads` threads of the CPU.
  std::optional<double> DenseFlopsPerSecond(int threads) const;

  struct Copying {
    double h2d_latency_s = 0, h2d_bytes_per_s = 0, pin_bytes_per_s = 0, memory_bytes = 0;
  };
  /// To the experiment's GPU, from page-locked memory.
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
