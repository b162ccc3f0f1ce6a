// What the real work around an emulated pipeline costs on one machine: the figures that a
// calibration measures and that a virtual run needs where a threaded one simply does the work.
// Plain data. Everything left out costs nothing, so that closed forms hold exactly.
#pragma once

#include <optional>

#include "base/units.h"

namespace pipesim::cost {

/// Bandwidths are bytes/s of the data that the stage handles, one thread having the machine to
/// itself, unless said otherwise; absent: the stage is free.
struct Machine {
  /// Cores (a quota may be a fraction) that all threads of the run share; 0: one for everybody.
  double cores = 0;

  base::Duration worker_startup{};  ///< from the run's begin until a worker's first instruction
  base::Duration wake_up{};    ///< from what a waiting thread waits for until it runs on a core
  base::Duration burn_handover{};  ///< each burn of a worker of several threads: calling the others
  base::Duration host_step{};  ///< the consumer's own work for each step, launches not counted

  base::Duration collate_batch{};                         ///< fixed part of collating a batch
  std::optional<base::BytesPerSecond> collate_bandwidth;  ///< prepared bytes, recycled buffers
  std::optional<base::BytesPerSecond> fault_bandwidth;   ///< mapping fresh pages, on top of collate
  std::optional<base::BytesPerSecond> pin_bandwidth;     ///< into page-locked memory
  std::optional<base::BytesPerSecond> decode_bandwidth;  ///< stored bytes of compressed samples
  std::optional<base::BytesPerSecond> file_bandwidth;    ///< reading files; absent: free storage

  /// Of all threads together that copy or decode (collate, pin, cache hits, decoding): bytes of the
  /// samples they write; absent: no limit beyond each thread's own.
  std::optional<base::BytesPerSecond> memory_bandwidth;

  // The trainer's pool on a CPU that trains, under OMP_WAIT_POLICY=default; with passive both are
  // taken as absent.
  /// How long a thread of the pool looks out for more work, on a core, before it sleeps; absent:
  /// it sleeps at once.
  std::optional<base::Duration> pool_spin;
  /// For how long a thread that lost its core to another waits for its next turn: a barrier of the
  /// pool waits with it, spinning. Absent: barriers cost nothing, the pool shares cores as if its
  /// threads were strangers.
  std::optional<base::Duration> barrier_slice;
};

}  // namespace pipesim::cost
