// A machine profile: measured speeds and latencies of one machine, each with its spread and how it
// was obtained. `predict` uses them for work that a run really does. Reads YAML or JSON and writes
// YAML; docs/profile.md describes the file.
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
  std::string how;               ///< "measured ...", or its source
};
template <class T>
using MaybeFigure = std::optional<Figure<T>>;

/// Absent: unknown. Bandwidths are bytes/s of the data that the stage handles, with one thread
/// running unless the name ends in all_cores.
struct MachineFigures {
  MaybeFigure<Bytes> memory;  ///< host memory available to a run

  MaybeFigure<Duration> worker_startup;    ///< from starting a worker to its first instruction
  MaybeFigure<Duration> wake_up;           ///< from notifying a thread until it runs
  MaybeFigure<Duration> burn_handover;     ///< overhead of splitting a burn between two threads
  MaybeFigure<Duration> host_step;         ///< the training loop's own work per step
  MaybeFigure<Duration> launch;            ///< host time to launch one kernel on a GPU
  MaybeFigure<Duration> operation;         ///< fixed cost of one operation when training on the CPU

  MaybeFigure<Duration> pool_spin;  ///< how long LibTorch's thread pool spins after a step
  /// Run-queue wait of a preempted thread until its next time slice.
  MaybeFigure<Duration> barrier_slice;

  MaybeFigure<Duration> collate_batch;            ///< fixed cost of collating a batch
  MaybeFigure<BytesPerSecond> collate_bandwidth;  ///< prepared bytes into recycled buffers
  MaybeFigure<BytesPerSecond> collate_bandwidth_all_cores;
  MaybeFigure<BytesPerSecond> memory_bandwidth;  ///< read and written together
  MaybeFigure<BytesPerSecond> memory_bandwidth_all_cores;
  MaybeFigure<BytesPerSecond> cache_bandwidth;   ///< the same within a core's caches
  MaybeFigure<BytesPerSecond> fault_bandwidth;   ///< mapping fresh pages, without writing data
  MaybeFigure<BytesPerSecond> pin_bandwidth;     ///< into page-locked memory
  MaybeFigure<BytesPerSecond> read_bandwidth;    ///< files in the page cache
  MaybeFigure<BytesPerSecond> decode_bandwidth;  ///< stored bytes of JPEG
  MaybeFigure<double> fp32_gflops;               ///< dense products, 1e9 operations a second
  MaybeFigure<double> fp32_gflops_all_cores;

  MaybeFigure<Duration> storage_latency;          ///< per file
  MaybeFigure<BytesPerSecond> storage_bandwidth;  ///< of all readers together

  MaybeFigure<Duration> process_launch;  ///< of the trainer's process, to start one worker process
  MaybeFigure<Duration> process_startup_fork;  ///< of a worker process, until it is ready, and its end
  MaybeFigure<Duration> process_startup_forkserver;
  MaybeFigure<Duration> process_startup_spawn;
  MaybeFigure<Duration> process_share_batch;  ///< of a worker's main thread, to share a batch's memory
  MaybeFigure<Duration> process_share_tensor;  ///< each of its tensors
  MaybeFigure<BytesPerSecond> process_share_bandwidth;  ///< its bytes
  MaybeFigure<Duration> process_send_batch;  ///< of a worker's other threads, to send a batch
  MaybeFigure<Duration> process_send_tensor;  ///< each of its tensors
  MaybeFigure<BytesPerSecond> process_send_bandwidth;  ///< its bytes
  MaybeFigure<Duration> process_serve_batch;  ///< of a worker's thread that hands over a batch's memory
  MaybeFigure<Duration> process_serve_tensor;  ///< each of its tensors
  MaybeFigure<Duration> process_receive_batch;  ///< CPU time of the trainer's process to take a batch
  MaybeFigure<Duration> process_receive_tensor;  ///< each of its tensors
  MaybeFigure<BytesPerSecond> process_receive_bandwidth;  ///< its bytes
  MaybeFigure<Duration> process_latency_batch;  ///< wake-ups while a batch is handed over
  MaybeFigure<Duration> process_latency_tensor;  ///< each of its tensors
  // All of this is with two workers.
  MaybeFigure<double> process_worker_of_one;    ///< times as much of the worker's process with one worker
  MaybeFigure<double> process_trainer_of_one;   ///< the same of the trainer's process, and what it waits
  MaybeFigure<double> process_worker_of_many;   ///< with process_many_workers
  MaybeFigure<double> process_trainer_of_many;
  MaybeFigure<double> process_many_workers;
  /// Mean wait of a worker's other threads for Python's lock, while it fetches ready samples.
  MaybeFigure<Duration> process_lock_wait;
  MaybeFigure<Bytes> process_memory;  ///< of a worker process
  MaybeFigure<Duration> python_sample;  ///< Python's own CPU time for a sample
  MaybeFigure<Duration> python_tensor;  ///< CPU time of making one small tensor of a sample
  MaybeFigure<Duration> python_wait;      ///< how much longer a sample's wait takes, without a core
  MaybeFigure<Duration> python_wait_cpu;  ///< CPU time of a wait: going to sleep and waking up
  MaybeFigure<Duration> python_collate_batch;  ///< CPU time of default_collate: each batch
  MaybeFigure<Duration> python_collate_tensor;  ///< each of its tensors
  MaybeFigure<Duration> python_collate_sample;  ///< each sample of a tensor
  MaybeFigure<BytesPerSecond> python_collate_bandwidth;  ///< its bytes
  /// Fresh memory of a batch that the training loop collates itself, on top.
  MaybeFigure<BytesPerSecond> python_fault_bandwidth;

  MaybeFigure<Duration> h2d_latency;          ///< fixed part of a copy to the GPU
  MaybeFigure<BytesPerSecond> h2d_bandwidth;  ///< from page-locked memory
  MaybeFigure<BytesPerSecond> h2d_pageable_bandwidth;
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
  visit("process_launch", f.process_launch);
  visit("process_startup_fork", f.process_startup_fork);
  visit("process_startup_forkserver", f.process_startup_forkserver);
  visit("process_startup_spawn", f.process_startup_spawn);
  visit("process_share_batch", f.process_share_batch);
  visit("process_share_tensor", f.process_share_tensor);
  visit("process_share_bandwidth", f.process_share_bandwidth);
  visit("process_send_batch", f.process_send_batch);
  visit("process_send_tensor", f.process_send_tensor);
  visit("process_send_bandwidth", f.process_send_bandwidth);
  visit("process_serve_batch", f.process_serve_batch);
  visit("process_serve_tensor", f.process_serve_tensor);
  visit("process_receive_batch", f.process_receive_batch);
  visit("process_receive_tensor", f.process_receive_tensor);
  visit("process_receive_bandwidth", f.process_receive_bandwidth);
  visit("process_latency_batch", f.process_latency_batch);
  visit("process_latency_tensor", f.process_latency_tensor);
  visit("process_worker_of_one", f.process_worker_of_one);
  visit("process_trainer_of_one", f.process_trainer_of_one);
  visit("process_worker_of_many", f.process_worker_of_many);
  visit("process_trainer_of_many", f.process_trainer_of_many);
  visit("process_many_workers", f.process_many_workers);
  visit("process_lock_wait", f.process_lock_wait);
  visit("process_memory", f.process_memory);
  visit("python_sample", f.python_sample);
  visit("python_tensor", f.python_tensor);
  visit("python_wait", f.python_wait);
  visit("python_wait_cpu", f.python_wait_cpu);
  visit("python_collate_batch", f.python_collate_batch);
  visit("python_collate_tensor", f.python_collate_tensor);
  visit("python_collate_sample", f.python_collate_sample);
  visit("python_collate_bandwidth", f.python_collate_bandwidth);
  visit("python_fault_bandwidth", f.python_fault_bandwidth);
  visit("h2d_latency", f.h2d_latency);
  visit("h2d_bandwidth", f.h2d_bandwidth);
  visit("h2d_pageable_bandwidth", f.h2d_pageable_bandwidth);
  visit("device_memory", f.device_memory);
}

/// A measured training step: device time on a GPU, wall time on the CPU.
struct ProfileStep {
  std::string model;   ///< as in models/
  Shape shape;         ///< of a sample
  DeviceId device;
  int threads = 1;     ///< LibTorch's; 1 on a GPU
  OmpWait omp_wait = OmpWait::kDefault;  ///< with several threads on the CPU
  Precision precision = Precision::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  std::int64_t batch = 1;
  /// Between a step's end and the next one's begin, where that was not at once.
  Duration after_pause{};
  Figure<Duration> time;
  std::optional<Duration> launch = {};  ///< on a GPU: the host's time to launch it; kernels of models differ
  /// On a GPU: what a step takes beyond `time`, since its kernels wait for their launches although
  /// the host launches the step faster than the device computes it.
  std::optional<Duration> gap = {};
};

struct MachineProfile {
  int version = 1;
  std::string reference;  ///< the name or absolute path it was loaded by; not in the file
  std::string source;     ///< one line: which machine, measured by whom
  // Where it was measured:
  std::string cpu;   ///< "model name" of /proc/cpuinfo
  double cores = 1;  ///< available to a run; "all cores" figures use this many
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

/// YAML that reads back as an equal profile (except `reference`).
std::string WriteProfile(const MachineProfile& profile);

}  // namespace pipesim::spec
