// What a worker will do until its next event without asking for anything that it shares: the rest
// of a read, chunks to prepare, and perhaps the collating of its batch. Its tasks need no event
// each, and what others may see of it until then is known from the times. Formulas only.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "engine/state_visitor.h"

namespace pipesim::engine::virtual_time {

/// Of one worker; its tasks wait or have a core. Until `chunks_begin` it reads; then it prepares
/// equal chunks, the last of which may be smaller; from `chunks_end` to `end` it collates.
struct Stretch {
  base::Instant begin, chunks_begin, chunks_end, end;
  base::Duration each{};     ///< to prepare a full chunk; > 0
  std::int64_t chunks = 0;   ///< 0: no stretch
  std::int64_t samples = 0;  ///< of all chunks
  std::int64_t chunk_samples = 0;
  base::Duration cpu_of_chunk{}, cpu_of_all{}, cpu_of_collate{};
  bool collates = false;

  /// In [begin, end), to which the following are limited.
  bool Runs(base::Instant at) const { return chunks > 0 && begin <= at && at < end; }
  std::int64_t LoadedBy(base::Instant at) const {
    if (at >= chunks_end) return samples;
    const base::Duration preparing = at - chunks_begin;
    return preparing < each ? 0 : preparing / each * chunk_samples;  // mostly without a division
  }
  /// CPU time is counted when a task begins.
  base::Duration CpuBy(base::Instant at) const {
    if (at >= chunks_end) return cpu_of_all + (collates ? cpu_of_collate : base::Duration::zero());
    if (at < chunks_begin) return base::Duration::zero();
    const std::int64_t begun = (at - chunks_begin) / each + 1;
    return begun < chunks ? begun * cpu_of_chunk : cpu_of_all;
  }
  /// Moments that were no events; without the end, which is one.
  std::int64_t MomentsBy(base::Instant at) const {
    const std::int64_t of_read = begin < chunks_begin && chunks_begin <= at ? 1 : 0;
    if (at >= chunks_end) return of_read + chunks;
    return of_read + (at < chunks_begin ? 0 : (at - chunks_begin) / each);
  }
  std::int64_t Moments() const { return MomentsBy(end) - (chunks_end < end ? 0 : 1); }

  void Visit(StateVisitor& visitor) {
    visitor.Same(chunks);
    if (chunks == 0) return;
    visitor.Time(begin);
    visitor.Time(chunks_begin);
    visitor.Time(chunks_end);
    visitor.Time(end);
    visitor.Same(samples);
    visitor.Same(collates);
  }
};

}  // namespace pipesim::engine::virtual_time
