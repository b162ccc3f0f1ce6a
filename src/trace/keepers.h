// Bounded samples of unbounded streams, for a RunTrace. Used by TraceBuilder, and where only
// progress is recorded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "trace/period.h"
#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

/// The rank of a key is its hash. Reservoirs keep the smallest ranks.
class KeyRank {
 public:
  explicit KeyRank(std::uint64_t seed);
  std::uint64_t operator()(std::int64_t key) const {
    return base::Mix64(seed_ + static_cast<std::uint64_t>(key));
  }
  /// Calls found(rank, key) for each of `keys` keys from `first` on whose rank is at most `limit`.
  template <class Found>
  void ForEachUpTo(std::uint64_t limit, std::int64_t first, std::int64_t keys,
                   const Found& found) const {
    const std::int64_t end = first + keys;
    // A block without any is the rule only where a key is seldom found.
    const bool seldom = limit < UINT64_MAX / static_cast<std::uint64_t>(kKeysAtOnce);
    for (std::int64_t block = first; block < end; block += kKeysAtOnce) {
      if (seldom && NoneOfBlockUpTo(limit, block)) [[likely]]
        continue;
      for (std::int64_t key = block; key < std::min(block + kKeysAtOnce, end); ++key) {
        const std::uint64_t rank = (*this)(key);
        if (rank <= limit) found(rank, key);
      }
    }
  }
  /// A limit that kReservoirSize ranks of `keys` keys from `first` on do not exceed, about as low as the
  /// first 65,536 of them allow; UINT64_MAX where it would not be below `known`, or they are too few.
  std::uint64_t LimitForReservoir(std::int64_t first, std::int64_t keys, std::uint64_t known) const;

 private:
  static constexpr std::int64_t kKeysAtOnce = 64;
  /// Of the kKeysAtOnce keys from `first` on. False if one is near the limit, too.
  bool NoneOfBlockUpTo(std::uint64_t limit, std::int64_t first) const;

  std::uint64_t seed_;
};

/// Reservoir sampling for a group of series with common keys: keeps the values of the
/// kReservoirSize keys with the smallest ranks. Buffers up to twice as many and thins them out when
/// the buffer is full, keeping their order.
template <std::size_t kSeries>
class ReservoirKeeper {
 public:
  template <class... Value>
  void Offer(std::uint64_t rank, std::int64_t key, base::Instant at, Value... value) {
    static_assert(sizeof...(value) == kSeries);
    ++seen_;
    if (noted_ != nullptr) [[unlikely]]
      noted_->push_back({rank, key, at, {value...}});
    if (rank > limit_ || !MakeRoomFor(rank)) return;
    Offered<kSeries>& kept = kept_.emplace_back();
    kept.rank = rank;
    kept.key = key;
    kept.at = at;
    kept.values = {value...};
  }
  /// Adds a copy of what is offered to `offers` from now on; nullptr: no longer.
  void NoteIn(std::vector<Offered<kSeries>>* offers) { noted_ = offers; }
  /// Counts offers that come by Repeat.
  void Saw(std::int64_t offers) { seen_ += offers; }
  /// Larger ranks need not be repeated.
  std::uint64_t limit() const { return limit_; }
  /// What LowerLimit can lower; 0: nothing.
  std::uint64_t lowerable_limit() const { return keep_first_ ? 0 : limit_; }
  /// kReservoirSize ranks up to `limit` will be offered, so that larger ones would be dropped in the end.
  void LowerLimit(std::uint64_t limit);
  /// Offers what `period` offered once more with each of `keys` that one of its repetitions has.
  void Repeat(const PeriodOffers<kSeries>& period, const Repetition& repetition,
              const std::vector<RepeatedKey>& keys);
  /// Before any is dropped, all that were offered until then are kept for Finish.
  void KeepFirst() { keep_first_ = true; }
  /// Writes the kept values in key order to series[0], series[1], ... Call once, at the end. `first`:
  /// where the first values of series[0] go if not all were kept.
  void Finish(Reservoir* series, std::vector<Sampled>* first = nullptr);

 private:
  /// False: the rank has become too large.
  bool MakeRoomFor(std::uint64_t rank) {
    if (kept_.size() % (2 * kReservoirSize) != 0) return true;  // neither empty nor full
    MakeRoom();
    return rank <= limit_;
  }
  void MakeRoom();
  void Thin();

  std::vector<Offered<kSeries>>* noted_ = nullptr;
  std::int64_t seen_ = 0;
  std::uint64_t limit_ = UINT64_MAX;  ///< larger ranks are dropped
  std::vector<Offered<kSeries>> kept_, first_;
  bool keep_first_ = false;
  std::vector<std::uint64_t> work_;  ///< scratch space
};
extern template class ReservoirKeeper<1>;
extern template class ReservoirKeeper<2>;
extern template class ReservoirKeeper<5>;

/// Keeps the first and the last spans of a run.
class SpanKeeper {
 public:
  void Add(std::vector<Span>& first_spans, const Span& span) {
    highest_batch_ = std::max(highest_batch_, span.batch);
    // A span without a batch counts towards the highest batch so far.
    const std::int64_t belongs_to = span.batch >= 0 ? span.batch : highest_batch_;
    if (belongs_to < kSpanBatches && !first_closed_) {
      first_spans.push_back(span);
      first_closed_ = first_spans.size() == kKeptSpans;
      return;
    }
    if (size_ == ring_.size()) [[unlikely]]
      MakeRoom(first_spans.size());
    ring_[next_] = span;
    if (++next_ == ring_.size()) next_ = 0;
    ++size_;
  }
  /// Moves out the last spans in the order recorded. Call once, at the end.
  std::vector<Span> Last();

 private:
  void MakeRoom(std::size_t usual);
  std::size_t Oldest() const { return next_ >= size_ ? next_ - size_ : next_ + ring_.size() - size_; }

  bool first_closed_ = false;
  std::int64_t highest_batch_ = -1;
  std::vector<Span> ring_;
  std::size_t next_ = 0, size_ = 0;  ///< write position, and the number of spans held
};

inline constexpr std::size_t kMaxCheckpoints = 4096;
/// Of a run's start, as many as device steps that a reservoir holds before it drops the first.
inline constexpr std::size_t kMostFirstCheckpoints = 2 * kReservoirSize;
/// Of kMaxCheckpoints doubles `stride` and drops every second one, the first time after copying them to
/// `first`, if any.
void ThinCheckpoints(std::int64_t& stride, std::vector<Checkpoint>& kept, std::vector<Checkpoint>* first);

/// Adds a checkpoint, whose steps are a multiple of `stride`, a power of two.
inline void KeepCheckpoint(const Checkpoint& checkpoint, std::int64_t& stride, std::vector<Checkpoint>& kept,
                           std::vector<Checkpoint>* first = nullptr) {
  if (kept.capacity() < kMaxCheckpoints) [[unlikely]]
    kept.reserve(kMaxCheckpoints);
  kept.push_back(checkpoint);
  if (kept.size() == kMaxCheckpoints) [[unlikely]]
    ThinCheckpoints(stride, kept, first);
}

/// Keeps the first 4,096 epochs. Batch numbers continue from epoch to epoch without gaps, and all
/// batches of an epoch are trained on before the next epoch's.
class EpochKeeper {
 public:
  void Add(std::vector<EpochRecord>& epochs, const StepRecord& step, base::Instant previous_done);
  void Add(std::vector<EpochRecord>& epochs, const BatchRecord& batch);
  /// As if what `period` added to epochs came again.
  void Repeat(std::vector<EpochRecord>& epochs, const PeriodEpochs& period,
              const Repetition& repetition);

 private:
  /// Reads of a batch that has had no step yet. Its epoch is known from its step.
  struct Reads {
    std::int64_t batch = -1;  ///< -1: free
    std::int64_t reads = 0;
    base::Bytes bytes;
    std::int64_t cache_hits = 0;
  };
  void Count(std::vector<EpochRecord>& epochs, const Reads& reads) const;
  Reads& Place(std::int64_t batch) {
    return waiting_[static_cast<std::size_t>(batch) & (waiting_.size() - 1)];
  }
  void MakeRoomFor(std::int64_t batch);
  void RepeatWhole(std::vector<EpochRecord>& epochs, const PeriodEpochs& period,
                   const Repetition& repetition);
  void Renumber(std::int64_t batches);

  bool full_ = false;
  std::vector<std::int64_t> first_batches_;  ///< of each kept epoch
  std::int64_t highest_batch_ = -1;          ///< highest batch with a step
  /// Later batches, each at its number modulo the size (a power of two).
  std::vector<Reads> waiting_ = std::vector<Reads>(64);
};

}  // namespace pipesim::trace
