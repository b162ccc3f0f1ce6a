// What a machine is measured to do, figure by figure, each with its scatter and how it came about:
// what `predict` needs where a run simply does the work. YAML or JSON into plain values and back;
// docs/profile.md describes the file. Knows nothing of what is predicted from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"
#include "spec/read.h"

namespace pipesim::spec {

/// One figure.
template <class T>
struct Figure {
  T value{};
  std::optional<double> spread;  ///< standard deviation / mean of its measurements
  std::string how;               ///< "measured ...", or where it is taken from
};
template <class T>
using MaybeFigure = std::optional<Figure<T>>;

/// Absent: not known. Bandwidths are bytes/s of the data that the stage handles, by one thread alone
/// unless the name says all cores.
struct MachineFigures {
  MaybeFigure<Bytes> memory;  ///< of the host, as much as a run may take

  MaybeFigure<Duration> worker_startup;    ///< from starting a worker to its first instruction
  MaybeFigure<Duration> wake_up;           ///< from what a thread waits for until it runs
  MaybeFigure<Duration> burn_handover;     ///< two threads burning together, beyond their shares
  MaybeFigure<Duration> host_step;         ///< the training loop's own work for a step
  MaybeFigure<Duration> launch;            ///< host time to launch one kernel on a GPU
  MaybeFigure<Duration> operation;         ///< fixed cost of one operation where the CPU trains

  MaybeFigure<Duration> pool_spin;  ///< how long LibTorch's pool stays on its cores after a step
  /// How long a thread that lost its core to another waits for its next turn.
  MaybeFigure<Duration> barrier_slice;

  MaybeFigure<Duration> collate_batch;            ///< fixed cost of collating a batch
  MaybeFigure<BytesPerSecond> collate_bandwidth;  ///< prepared bytes into recycled buffers
  MaybeFigure<BytesPerSecond> collate_bandwidth_all_cores;
  MaybeFigure<BytesPerSecond> memory_bandwidth;  ///< read and written together
  MaybeFigure<BytesPerSecond> memory_bandwidth_all_cores;
  MaybeFigure<BytesPerSecond> cache_bandwidth;   ///< the same in a core's caches
  MaybeFigure<BytesPerSecond> fault_bandwidth;   ///< mapping fresh pages, without writing data
  MaybeFigure<BytesPerSecond> pin_bandwidth;     ///< into page-locked memory
  MaybeFigure<BytesPerSecond> read_bandwidth;    ///< files that are in the page cache
  MaybeFigure<BytesPerSecond> decode_bandwidth;  ///< stored bytes of JPEG
  MaybeFigure<double> fp32_gflops;               ///< dense products, 1e9 operations a second
  MaybeFigure<double> fp32_gflops_all_cores;

  MaybeFigure<Duration> storage_latency;  ///< of reading one file
  MaybeFigure<BytesPerSecond> storage_bandwidth;  ///< of all readers together

  MaybeFigure<Duration> h2d_latency;          ///< fixed part of a copy to the GPU
  MaybeFigure<BytesPerSecond> h2d_bandwidth;  ///< from page-locked memory
  MaybeFigure<Bytes> device_memory;           ///< of the GPU
};

/// Visits every figure by its key, in the file's order: visit(key, MaybeFigure<T>&).
template <class Figures, class Visit>
void ForEachFigure(Figures& f, Visit&& visit) {
  visit("memory", f.memory);
  visit("worker_startup", f.worker_startup);
  visit("wake_up", f.wake_up);
  visit("burn_handover", f.burn_handover);
  visit("host_step", f.host_step);
  visit("launch", f.launch);
  visit("operation", f.operation);
  visit("pool_spin", f.pool_spin);
  visit("barrier_slice", f.barrier_slice);
  visit("collate_batch", f.collate_batch);
  visit("collate_bandwidth", f.collate_bandwidth);
  visit("collate_bandwidth_all_cores", f.collate_bandwidth_all_cores);
  visit("memory_bandwidth", f.memory_bandwidth);
  visit("memory_bandwidth_all_cores", f.memory_bandwidth_all_cores);
  visit("cache_bandwidth", f.cache_bandwidth);
  visit("fault_bandwidth", f.fault_bandwidth);
  visit("pin_bandwidth", f.pin_bandwidth);
  visit("read_bandwidth", f.read_bandwidth);
  visit("decode_bandwidth", f.decode_bandwidth);
  visit("fp32_gflops", f.fp32_gflops);
  visit("fp32_gflops_all_cores", f.fp32_gflops_all_cores);
  visit("storage_latency", f.storage_latency);
  visit("storage_bandwidth", f.storage_bandwidth);
  visit("h2d_latency", f.h2d_latency);
  visit("h2d_bandwidth", f.h2d_bandwidth);
  visit("device_memory", f.device_memory);
}

/// A training step as it was measured: device time on a GPU, wall time where the CPU trains.
struct ProfileStep {
  std::string model;   ///< as in models/
  Shape shape;         ///< of a sample
  DeviceId device;
  int threads = 1;     ///< LibTorch's; 1 on a GPU
  OmpWait omp_wait = OmpWait::kDefault;  ///< of several threads on the CPU
  Precision precision = Precision::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  std::int64_t batch = 1;
  Figure<Duration> time;
};

struct MachineProfile {
  int version = 1;
  std::string reference;  ///< what found it: a name or an absolute path; not in the file
  std::string source;     ///< one line: whose figures these are
  // Where it was measured:
  std::string cpu;   ///< as /proc/cpuinfo names it
  double cores = 1;  ///< that threads of a run could use; "all cores" means so many
  std::string gpu;   ///< empty: none
  std::string date;
  MachineFigures figures;
  std::vector<ProfileStep> steps;
};

/// `name`: a file of configs/machines, or a path; `flag`: as typed, for errors. Throws ConfigError
/// with every problem found, EnvironmentError when the file cannot be read.
MachineProfile ReadMachineProfile(const std::string& name, const std::string& flag,
                                  const DataFolders& folders);
/// The same from a text; `source` names it in problems.
MachineProfile ReadMachineProfileText(std::string_view text, const std::string& source);

/// YAML that reads back as an equal profile (but for `reference`).
std::string WriteProfile(const MachineProfile& profile);

}  // namespace pipesim::spec
