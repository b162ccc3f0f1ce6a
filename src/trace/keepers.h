// The bounded parts of a RunTrace, each filled by one small class: what is kept of a stream that
// has no end. Used by TraceBuilder, and where only progress is recorded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "trace/run_trace.h"
#include "trace/span.h"

namespace pipesim::trace {

/// The rank of a key: its hash. Small ranks are kept.
class KeyRank {
 public:
  explicit KeyRank(std::uint64_t seed);
  std::uint64_t operator()(std::int64_t key) const {
    return base::Mix64(seed_ + static_cast<std::uint64_t>(key));
  }

 private:
  std::uint64_t seed_;
};

/// What is offered for one key: a value for each series of a group.
template <std::size_t kSeries>
struct Offered {
  std::uint64_t rank = 0;
  std::int64_t key = 0;
  base::Instant at;
  std::array<double, kSeries> values{};
};

/// Keeps, of a group of series that are offered the same keys, the values whose keys have the
/// kReservoirSize smallest ranks. Holds up to twice as many: all of them are thinned out at once,
/// in the order they came, when one more comes.
template <std::size_t kSeries>
class ReservoirKeeper {
 public:
  template <class... Value>
  void Offer(std::uint64_t rank, std::int64_t key, base::Instant at, Value... value) {
    static_assert(sizeof...(value) == kSeries);
    ++seen_;
    if (rank > limit_) return;
    if (kept_.size() % (2 * kReservoirSize) == 0) {  // none yet, or as many as it holds
      MakeRoom();
      if (rank > limit_) return;
    }
    Offered<kSeries>& kept = kept_.emplace_back();  // filled where it stays
    kept.rank = rank;
    kept.key = key;
    kept.at = at;
    kept.values = {value...};
  }
  /// No more come: exactly those kept, in key order, into the first of `series` and those after it.
  void Finish(Reservoir* series);

 private:
  void MakeRoom();
  void Thin();

  std::int64_t seen_ = 0;
  std::uint64_t limit_ = UINT64_MAX;  ///< nobody with a larger rank is kept
  std::vector<Offered<kSeries>> kept_;
  std::vector<std::uint64_t> work_;  ///< room to work in
};
extern template class ReservoirKeeper<1>;
extern template class ReservoirKeeper<2>;
extern template class ReservoirKeeper<5>;

/// Keeps the first and the last spans of a run.
class SpanKeeper {
 public:
  void Add(std::vector<Span>& first_spans, const Span& span) {
    highest_batch_ = std::max(highest_batch_, span.batch);
    // A span of no batch belongs to the time around it.
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
  /// The last spans in the order recorded. Gives them away: no span comes after it.
  std::vector<Span> Last();

 private:
  void MakeRoom(std::size_t usual);
  std::size_t Oldest() const { return next_ >= size_ ? next_ - size_ : next_ + ring_.size() - size_; }

  bool first_closed_ = false;
  std::int64_t highest_batch_ = -1;
  std::vector<Span> ring_;
  std::size_t next_ = 0, size_ = 0;  ///< where the next one goes, and how many precede it
};

/// Adds a checkpoint whose steps are a multiple of `stride`, a power of two. With 4,096 of them
/// `stride` doubles, and every second one goes.
void KeepCheckpoint(const Checkpoint& checkpoint, std::int64_t& stride,
                    std::vector<Checkpoint>& kept);

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
