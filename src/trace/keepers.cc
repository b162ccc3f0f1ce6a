#include "trace/keepers.h"

#include <algorithm>

#include "base/random.h"

namespace pipesim::trace {
namespace {
constexpr std::size_t kMaxEpochs = 4096;
}

ReservoirKeeper::ReservoirKeeper(std::uint64_t seed, Series series)
    : seed_(seed), series_(static_cast<std::uint64_t>(series)) {}

std::pair<std::uint64_t, std::int64_t> ReservoirKeeper::Rank(std::int64_t key) const {
  base::KeyedStream stream(seed_, base::Stage::kReservoir, series_,
                           static_cast<std::uint64_t>(key));
  return {stream.Next(), key};
}

void ReservoirKeeper::Offer(Reservoir& reservoir, const Sampled& sampled) {
  ++reservoir.seen;
  std::vector<Sampled>& kept = reservoir.kept;
  // Hashes are computed again where they are compared: past the first few thousand values almost
  // all are turned away by `largest_`, and the kept ones need no room for their hash.
  const auto by_rank = [this](const Sampled& a, const Sampled& b) {
    return Rank(a.key) < Rank(b.key);
  };
  if (kept.size() < kReservoirSize) {
    kept.push_back(sampled);
    if (kept.size() < kReservoirSize) return;
    std::make_heap(kept.begin(), kept.end(), by_rank);
  } else {
    if (Rank(sampled.key) >= largest_) return;
    std::pop_heap(kept.begin(), kept.end(), by_rank);
    kept.back() = sampled;
    std::push_heap(kept.begin(), kept.end(), by_rank);
  }
  largest_ = Rank(kept.front().key);
}

void ReservoirKeeper::SortByKey(Reservoir& reservoir) {
  std::sort(reservoir.kept.begin(), reservoir.kept.end(),
            [](const Sampled& a, const Sampled& b) { return a.key < b.key; });
}

void SpanKeeper::Add(std::vector<Span>& first_spans, const Span& span) {
  highest_batch_ = std::max(highest_batch_, span.batch);
  // A span of no batch belongs to the time around it.
  const std::int64_t belongs_to = span.batch >= 0 ? span.batch : highest_batch_;
  if (belongs_to < kSpanBatches && !first_closed_) {
    first_spans.push_back(span);
    first_closed_ = first_spans.size() == kKeptSpans;
  } else if (ring_.size() < kKeptSpans) {
    ring_.push_back(span);
  } else {
    ring_[oldest_] = span;
    oldest_ = (oldest_ + 1) % kKeptSpans;
  }
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
  highest_batch_ = std::max(highest_batch_, step.batch);
  while (!waiting_.empty() && waiting_.top().batch <= highest_batch_) {
    CountReads(epochs, waiting_.top());
    waiting_.pop();
  }
}

void EpochKeeper::Add(std::vector<EpochRecord>& epochs, const BatchRecord& batch) {
  if (full_) return;
  if (batch.batch > highest_batch_) {
    waiting_.push(batch);
  } else {
    CountReads(epochs, batch);
  }
}

void EpochKeeper::CountReads(std::vector<EpochRecord>& epochs, const BatchRecord& batch) const {
  const auto next = std::upper_bound(first_batches_.begin(), first_batches_.end(), batch.batch);
  EpochRecord& epoch = epochs[static_cast<std::size_t>(next - first_batches_.begin()) - 1];
  epoch.reads += batch.reads;
  epoch.bytes += batch.bytes;
  epoch.cache_hits += batch.cache_hits;
}

}  // namespace pipesim::trace
