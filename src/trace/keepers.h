// The bounded parts of a RunTrace, each filled by one small class: what is kept of a stream that
// has no end. Used by TraceBuilder alone.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

/// The rank of a key: its hash. Small ranks are kept.
class KeyRank {
 public:
  explicit KeyRank(std::uint64_t seed);
  std::uint64_t operator()(std::int64_t key) const;

 private:
  std::uint64_t seed_;
};

/// Keeps the kReservoirSize values of one series whose keys have the smallest ranks. Until Finish
/// it may hold up to twice as many: all of them are thinned out at once, in the order they came.
class ReservoirKeeper {
 public:
  void Offer(Reservoir& reservoir, const Sampled& sampled, std::uint64_t rank) {
    ++reservoir.seen;
    if (rank > limit_) return;
    reservoir.kept.push_back(sampled);
    ranks_.push_back(rank);
    if (ranks_.size() == 2 * kReservoirSize) Thin(reservoir);
  }
  /// No more values come: exactly those, in key order.
  void Finish(Reservoir& reservoir);

 private:
  void Thin(Reservoir& reservoir);

  std::uint64_t limit_ = UINT64_MAX;  ///< nobody with a larger rank is kept
  std::vector<std::uint64_t> ranks_;  ///< of the kept, in the same order
  std::vector<std::uint64_t> work_;   ///< room to work in
};

/// Keeps the first and the last spans of a run.
class SpanKeeper {
 public:
  void Add(std::vector<Span>& first_spans, const Span& span);
  /// The last spans in the order recorded.
  std::vector<Span> Last() const;

 private:
  void DropOld();

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
  /// What is counted of a batch that no step was made of yet: which epoch it is of, its step tells.
  struct Reads {
    std::int64_t batch = -1;  ///< -1: none here
    std::int64_t reads = 0;
    base::Bytes bytes;
    std::int64_t cache_hits = 0;
  };
  void Count(std::vector<EpochRecord>& epochs, const Reads& reads) const;
  Reads& Place(std::int64_t batch) {
    return waiting_[static_cast<std::size_t>(batch) & (waiting_.size() - 1)];
  }
  void MakeRoomFor(std::int64_t batch);

  bool full_ = false;
  std::vector<std::int64_t> first_batches_;  ///< of each kept epoch
  std::int64_t highest_batch_ = -1;          ///< that a step was made of
  /// Above the highest, each at its number modulo the size (a power of two).
  std::vector<Reads> waiting_ = std::vector<Reads>(64);
};

}  // namespace pipesim::trace
