// The machine around a pipeline: its cores, its memory, and what threads cost on it. Plain data.
// Everything left out costs nothing, so that closed forms hold exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/units.h"

namespace pipesim::cost {

/// Other programs on the run's processors.
struct OtherPrograms {
  double wanted = 0;  ///< threads that want to run at once, on average
  double held = 0;    ///< cores that they get while the run wants all, at most `wanted`
  /// The run's own runnable threads, on average, beside which they held that, where they are in the
  /// run's scheduling group: the more threads the run has, the less they get. 0: another group.
  double beside = 0;

  /// Of the processors, what they keep however many threads the run has. The kernel shares by thread, or by group of
  /// programs: two groups have half each.
  double share = 0.5;

  bool operator==(const OtherPrograms&) const = default;
};

/// The memory of threads that copy or decode (collate, pin, cache hits, decoding), in bytes of the
/// samples that they write. Each waits for the others' accesses, so that a byte takes the longer the
/// more the others write: on 16 cores beside an H100, where one thread copied 6.3 to 6.7 GB/s and 16
/// together 54 to 61, each of 8 copied 4.7 to 5.3 (4.6 to 4.8 beside the GPU's own copies). The line
/// from 1 to 16 threads says 5.1 to 5.3.
struct SharedMemory {
  base::BytesPerSecond alone;     ///< one thread
  base::BytesPerSecond together;  ///< `threads` of them, each on a core of its own
  int threads = 2;

  /// Per byte/s of a thread and byte/s of the others, both as fast as alone: the thread takes
  /// 1 + Hindrance() * own * others times as long. [s2/byte2]
  double Hindrance() const {
    if (threads < 2 || !(alone.per_s > 0) || !(together.per_s > 0)) return 0;
    const double longer = threads * alone.per_s / together.per_s - 1;
    return std::max(0.0, longer) / (threads - 1) / (alone.per_s * alone.per_s);
  }
  bool operator==(const SharedMemory&) const = default;
};

struct Machine {
  /// Cores (a quota may be a fraction) that all threads of the run share; 0: one for each thread.
  double cores = 0;
  /// Processors that run threads side by side until a quota of fewer `cores` stops them all; 0: as
  /// many as `cores`.
  int processors = 0;
  OtherPrograms others = {};
  std::vector<int> idle_cpus = {};  ///< processors that the run could use instead of its own

  base::Duration worker_startup{};  ///< from the run's begin until a worker's first instruction
  base::Duration wake_up{};  ///< from the event that a thread waits for until it runs on a core
  base::Duration burn_handover{};  ///< per burn of a worker with several threads: waking the others

  std::optional<SharedMemory> memory = {};  ///< absent: threads that copy do not hinder each other
  std::optional<base::Bytes> free_memory = {};  ///< for workers and their batches; absent: unknown

  // The trainer's pool on a CPU that trains, under OMP_WAIT_POLICY=default. With passive, or with
  // more threads than processors, both are taken as absent.
  /// CPU time for which a thread of the pool spins for more work before it sleeps; absent: it sleeps at
  /// once.
  std::optional<base::Duration> pool_spin = {};
  /// How long a thread that lost its core waits for its next turn; a barrier of the pool spins
  /// until then. Absent: barriers cost nothing, and the pool shares cores like independent threads.
  std::optional<base::Duration> barrier_slice = {};

  /// From a barrier's end until a thread that sleeps there runs; only threads that do not spin.
  base::Duration barrier_wake_up{};

  /// Processors for threads side by side; 0: no limit.
  double Processors() const { return processors > 0 ? processors : std::ceil(cores); }
  bool operator==(const Machine&) const = default;
};

}  // namespace pipesim::cost
