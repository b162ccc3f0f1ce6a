// The bounded parts of a RunTrace, each filled by one small class: what is kept of a stream that
// has no end. Used by TraceBuilder alone.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

/// Keeps the kReservoirSize values whose keys have the smallest hashes.
class ReservoirKeeper {
 public:
  ReservoirKeeper(std::uint64_t seed, Series series);
  void Offer(Reservoir& reservoir, const Sampled& sampled);
  static void SortByKey(Reservoir& reservoir);

 private:
  /// The rank of a key: by its hash, then the key itself.
  std::pair<std::uint64_t, std::int64_t> Rank(std::int64_t key) const;

  std::uint64_t seed_;
  std::uint64_t series_;
  std::pair<std::uint64_t, std::int64_t> largest_{};  ///< of those kept, once there is no more room
};

/// Keeps the first and the last spans of a run.
class SpanKeeper {
 public:
  void Add(std::vector<Span>& first_spans, const Span& span);
  /// The last spans in the order recorded.
  std::vector<Span> Last() const;

 private:
  bool first_closed_ = false;
  std::int64_t highest_batch_ = -1;
  std::vector<Span> ring_;
  std::size_t oldest_ = 0;  ///< where the next one goes, once the ring is full
};

/// Keeps the first 4,096 epochs. Batches of one epoch are numbered without a gap from the end of
/// the last, and all are trained on before the next epoch's.
class EpochKeeper {
 public:
  void Add(std::vector<EpochRecord>& epochs, const StepRecord& step, base::Instant previous_done);
  void Add(std::vector<EpochRecord>& epochs, const BatchRecord& batch);

 private:
  void CountReads(std::vector<EpochRecord>& epochs, const BatchRecord& batch) const;
  struct LaterFirst {
    bool operator()(const BatchRecord& a, const BatchRecord& b) const { return a.batch > b.batch; }
  };

  bool full_ = false;
  std::vector<std::int64_t> first_batches_;  ///< of each kept epoch
  std::int64_t highest_batch_ = -1;          ///< that a step was made of
  /// Batches that no step was made of yet: which epoch they are of, their step will tell.
  std::priority_queue<BatchRecord, std::vector<BatchRecord>, LaterFirst> waiting_;
};

}  // namespace pipesim::trace
