#include "trace/keepers.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace pipesim::trace {
namespace {
constexpr std::size_t kMaxEpochs = 4096;
}

KeyRank::KeyRank(std::uint64_t seed)
    : seed_(base::KeyedStream(seed, base::Stage::kReservoir).Next()) {}

std::uint64_t KeyRank::operator()(std::int64_t key) const {
  return base::Mix64(seed_ + static_cast<std::uint64_t>(key));
}

namespace {

/// The `count`-th smallest of `ranks` (>= count, uniform up to `limit`): where it is to be
/// expected, give or take six standard deviations, few stand; only those are put in order. `close`
/// is room to work in.
std::uint64_t SmallestUpTo(std::size_t count, const std::vector<std::uint64_t>& ranks,
                           std::uint64_t limit, std::vector<std::uint64_t>& close) {
  const auto n = static_cast<double>(ranks.size()), k = static_cast<double>(count);
  const double expected = k / n, spread = 6 * std::sqrt(k * (1 - k / n) + 1) / n;
  const auto at = [&](double share) {
    const double rank = std::max(share, 0.0) * static_cast<double>(limit);
    return rank >= static_cast<double>(limit) ? limit : static_cast<std::uint64_t>(rank);
  };
  const std::uint64_t low = at(expected - spread), high = at(expected + spread);
  std::size_t below = 0, near = 0;
  close.resize(2 * kReservoirSize + 1);
  for (const std::uint64_t rank : ranks) {
    below += rank < low ? 1 : 0;
    close[near] = rank;
    near += rank >= low && rank <= high ? 1 : 0;
  }
  if (below >= count || below + near < count) {  // by chance, hardly ever
    std::copy(ranks.begin(), ranks.end(), close.begin());
    below = 0;
    near = ranks.size();
  }
  const auto nth = close.begin() + static_cast<std::ptrdiff_t>(count - 1 - below);
  std::nth_element(close.begin(), nth, close.begin() + static_cast<std::ptrdiff_t>(near));
  return *nth;
}

}  // namespace

void ReservoirKeeper::Thin(Reservoir& reservoir) {
  std::vector<Sampled>& kept = reservoir.kept;
  limit_ = SmallestUpTo(kReservoirSize, ranks_, limit_, work_);
  std::size_t left = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    kept[left] = kept[i];
    ranks_[left] = ranks_[i];
    left += ranks_[i] <= limit_ ? 1 : 0;
  }
  kept.resize(left);
  ranks_.resize(left);
}

void ReservoirKeeper::Finish(Reservoir& reservoir) {
  if (ranks_.size() > kReservoirSize) Thin(reservoir);
  const auto by_key = [](const Sampled& a, const Sampled& b) { return a.key < b.key; };
  std::vector<Sampled>& kept = reservoir.kept;
  if (!std::is_sorted(kept.begin(), kept.end(), by_key)) {
    std::sort(kept.begin(), kept.end(), by_key);
  }
}

void SpanKeeper::Add(std::vector<Span>& first_spans, const Span& span) {
  highest_batch_ = std::max(highest_batch_, span.batch);
  // A span of no batch belongs to the time around it.
  const std::int64_t belongs_to = span.batch >= 0 ? span.batch : highest_batch_;
  if (belongs_to < kSpanBatches && !first_closed_) {
    first_spans.push_back(span);
    first_closed_ = first_spans.size() == kKeptSpans;
  } else if (ring_.size() < kKeptSpans) {
    if (ring_.size() == ring_.capacity()) DropOld();
    ring_.push_back(span);
  } else {
    ring_[oldest_] = span;
    oldest_ = (oldest_ + 1) % kKeptSpans;
  }
}

// Before the ring would grow: not for what will not be asked for.
void SpanKeeper::DropOld() {
  const auto first = std::find_if(ring_.begin(), ring_.end(), [this](const Span& span) {
    return span.batch > highest_batch_ - kSpanBatches;
  });
  if (first - ring_.begin() < ring_.end() - first) return;  // too few to be worth the moving
  ring_.erase(ring_.begin(), first);
}

std::vector<Span> SpanKeeper::Last() const {
  std::vector<Span> last;
  bool reached = false;  // spans of no batch count from the first kept batch on
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    const Span& span = ring_[(oldest_ + i) % ring_.size()];
    const bool kept = span.batch > highest_batch_ - kSpanBatches;
    reached = reached || (kept && span.batch >= 0);
    if (span.batch >= 0 ? kept : reached) last.push_back(span);
  }
  return last;
}

void EpochKeeper::Add(std::vector<EpochRecord>& epochs, const StepRecord& step,
                      base::Instant previous_done) {
  if (full_) return;
  if (epochs.empty() || epochs.back().epoch != step.epoch) {
    if (!epochs.empty()) epochs.back().complete = true;
    full_ = epochs.size() == kMaxEpochs;
    if (full_) return;
    EpochRecord& started = epochs.emplace_back();
    started.epoch = step.epoch;
    started.begin = previous_done;
    started.first_batch = step.taken - previous_done;
    // Taken out of order, the first step need not be of the first batch.
    first_batches_.push_back(highest_batch_ + 1);
  }
  EpochRecord& epoch = epochs.back();
  epoch.end = step.done;
  epoch.starved += step.starved;
  epoch.steps += 1;
  epoch.samples += step.samples;
  while (highest_batch_ < step.batch) {
    ++highest_batch_;
    Reads& reads = Place(highest_batch_);
    if (reads.batch == highest_batch_) Count(epochs, reads);
  }
}

void EpochKeeper::Add(std::vector<EpochRecord>& epochs, const BatchRecord& batch) {
  if (full_) return;
  const Reads reads{batch.batch, batch.reads, batch.bytes, batch.cache_hits};
  if (batch.batch > highest_batch_) {
    MakeRoomFor(batch.batch);
    Place(batch.batch) = reads;
  } else {
    Count(epochs, reads);
  }
}

void EpochKeeper::MakeRoomFor(std::int64_t batch) {
  auto size = waiting_.size();
  while (batch - highest_batch_ > static_cast<std::int64_t>(size)) size *= 2;
  if (size == waiting_.size()) return;
  std::vector<Reads> before(size);
  before.swap(waiting_);
  for (const Reads& reads : before) {
    if (reads.batch > highest_batch_) Place(reads.batch) = reads;
  }
}

void EpochKeeper::Count(std::vector<EpochRecord>& epochs, const Reads& reads) const {
  auto next = first_batches_.end();
  if (reads.batch < first_batches_.back()) {
    next = std::upper_bound(first_batches_.begin(), first_batches_.end(), reads.batch);
  }
  EpochRecord& epoch = epochs[static_cast<std::size_t>(next - first_batches_.begin()) - 1];
  epoch.reads += reads.reads;
  epoch.bytes += reads.bytes;
  epoch.cache_hits += reads.cache_hits;
}

}  // namespace pipesim::trace
