// What a chunk of samples asks of the parts of the pipeline. Plain data.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace pipesim::engine {

/// The summed demands of some consecutive samples of an epoch.
struct ChunkDemand {
  std::int64_t reads = 0;     ///< that storage serves; 0 where reading costs nothing
  base::Bytes bytes;          ///< of those reads
  base::Duration latency{};   ///< of those reads, open cost included
  std::int64_t hits = 0;      ///< reads that the cache serves instead
  base::Duration read_cpu{};  ///< CPU time of reading: copies of hits, system calls
  base::Duration prepare{};       ///< CPU time
  base::Duration prepare_wait{};  ///< without a core

  /// Whether its samples are read at all.
  bool Reads() const { return reads + hits > 0; }
  /// What a worker with so many threads does between the first and the last of the reads where it reads one sample
  /// after another.
  base::Duration BetweenReads(int threads) const {
    if (reads <= 1) return {};
    return (prepare / threads + prepare_wait) * (reads - 1) / (reads + hits);
  }
};

}  // namespace pipesim::engine
