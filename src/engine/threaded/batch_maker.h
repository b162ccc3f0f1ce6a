// Makes one batch: reads and prepares its samples chunk by chunk, then collates them into a slot.
// A worker does it, or the consumer itself at 0 workers.
#pragma once

#include <optional>
#include <vector>

#include "engine/threaded/burn_team.h"
#include "engine/threaded/call_guard.h"
#include "engine/threaded/process_costs.h"
#include "engine/threaded/run_state.h"
#include "engine/threaded/thread_timer.h"

namespace pipesim::engine::threaded {

/// Belongs to one thread, whose timer and sink it uses.
class BatchMaker {
 public:
  /// `stop` ends emulated waits and burns; `guard` may be nullptr. `costs`: what a worker has to send
  /// while it waits; nullptr: nothing.
  BatchMaker(RunState& run, ThreadTimer& timer, trace::SpanSink& sink, int worker,
             const base::StopFlag& stop, CallGuard* guard, ProcessCosts* costs);

  /// The slot of the finished batch; it may hold fewer samples than dealt, even none, where bad
  /// ones are skipped. nullopt: `stop` was set. Throws BadSample where bad samples are fatal,
  /// LeftBehind, std::bad_alloc, and whatever the source throws. The timer is left in kCollate.
  std::optional<int> Make(const Task& task);

 private:
  bool ReadAndPrepare(const Task& task, std::int64_t position, std::int64_t samples);
  bool Emulate(const Task& task, const Sampler::Epoch& order, std::int64_t position,
               std::int64_t samples);
  /// Uses the wait until `end` to send; returns in the same state.
  void SendUntil(base::Instant end);
  /// Spends the CPU time of reads that hit the emulated cache, in state read.
  void CopyHits(const ChunkDemand& demand);
  bool PrepareEmulated(const ChunkDemand& demand);
  /// Burns what a stated collate takes beyond the copying that was done.
  void CollateAsStated(const Batch& batch);
  /// The stored bytes, in buffer_. Throws BadSample.
  std::span<const std::byte> ReadBytes(std::int64_t sample);
  /// False: the sample was bad and is left out.
  bool ReadFile(std::int64_t sample);
  int Collate(const Task& task);
  template <class Call>
  void CallSource(Call&& call);

  RunState& run_;
  ThreadTimer& timer_;
  trace::SpanSink& sink_;
  const base::StopFlag& stop_;
  CallGuard* guard_;
  ProcessCosts* costs_;
  int worker_;
  std::int64_t chunk_samples_;
  std::size_t sample_bytes_;
  bool sleep_is_counted_;  ///< only of a source
  BurnTeam burners_;
  bool worked_ = false;  ///< on a core, to prepare the present batch
  base::Duration waited_{};  ///< of the time in state prepare
  Burner collator_;  ///< for a stated collate
  Burner copier_;  ///< for cache hits; separate, since its carry-over belongs to state read
  trace::BatchRecord record_;
  std::vector<std::int64_t> kept_;  ///< the samples of the batch, without bad ones
  std::vector<std::byte> buffer_;   ///< holds one stored sample
  std::vector<std::byte> decoded_;  ///< prepared samples of a real data set, before collate
};

}  // namespace pipesim::engine::threaded
