#include "trace/keepers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipesim::trace {
namespace {
constexpr std::size_t kMaxEpochs = 4096;
}  // namespace

void ThinCheckpoints(std::int64_t& stride, std::vector<Checkpoint>& kept, std::vector<Checkpoint>* first) {
  if (first != nullptr && stride == 1) *first = kept;
  stride *= 2;
  std::erase_if(kept, [stride](const Checkpoint& one) { return (one.steps & (stride - 1)) != 0; });
}

KeyRank::KeyRank(std::uint64_t seed)
    : seed_(base::KeyedStream(seed, base::Stage::kReservoir).Next()) {}

namespace {

/// Whether a rank of `count` keys may be up to `limit`. Without branches, so that a compiler can take
/// several keys at once.
[[gnu::always_inline]] inline bool AnyUpTo(std::uint64_t limit, std::uint64_t first,
                                           std::int64_t count) {
  const std::uint64_t upper_limit = limit | ((std::uint64_t{1} << 33) - 1);
  std::uint64_t any = 0;
  for (std::int64_t i = 0; i < count; ++i)
    any |= base::UpperMix64(first + static_cast<std::uint64_t>(i)) <= upper_limit ? 1 : 0;
  return any != 0;
}

#if defined(__x86_64__) && defined(__GNUC__)
/// The same with the only vector instruction that multiplies 64 bits: runs of 10^9 steps that repeat
/// themselves do little else.
[[gnu::target("avx512dq,avx512vl")]] bool AnyOf64InVectors(std::uint64_t limit,
                                                           std::uint64_t first) {
  return AnyUpTo(limit, first, 64);
}
#endif

}  // namespace

bool KeyRank::NoneOfBlockUpTo(std::uint64_t limit, std::int64_t first) const {
  static_assert(kKeysAtOnce == 64);
  const std::uint64_t from = seed_ + static_cast<std::uint64_t>(first);
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return !AnyOf64InVectors(limit, from);
#endif
  return !AnyUpTo(limit, from, kKeysAtOnce);
}

std::uint64_t KeyRank::LimitForReservoir(std::int64_t first, std::int64_t keys, std::uint64_t known) const {
  constexpr std::int64_t kMostLooked = std::int64_t{1} << 16;
  const auto count = static_cast<double>(std::min(keys, kMostLooked));
  const auto wanted = static_cast<double>(kReservoirSize);
  const double share = (wanted + 6 * std::sqrt(wanted)) / count;  // six standard deviations more
  if (!(count > 0) || share >= 1) return UINT64_MAX;
  const auto limit = static_cast<std::uint64_t>(share * 0x1p64);
  if (limit >= known) return UINT64_MAX;
  std::size_t found = 0;
  ForEachUpTo(limit, first, std::min(keys, kMostLooked), [&](std::uint64_t, std::int64_t) { ++found; });
  return found >= kReservoirSize ? limit : UINT64_MAX;
}

namespace {

/// The rank of the kReservoirSize-th smallest of `kept` (more than that, their ranks uniform up to
/// `limit`): where it is to be expected, give or take six standard deviations, few stand; only
/// those are put in order. `close` is room to work in.
template <class Kept>
std::uint64_t RankOfLast(const std::vector<Kept>& kept, std::uint64_t limit,
                         std::vector<std::uint64_t>& close) {
  constexpr std::size_t kCount = kReservoirSize;
  const auto n = static_cast<double>(kept.size()), k = static_cast<double>(kCount);
  const double expected = k / n, spread = 6 * std::sqrt(k * (1 - k / n) + 1) / n;
  const auto at = [&](double share) {
    const double rank = std::max(share, 0.0) * static_cast<double>(limit);
    return rank >= static_cast<double>(limit) ? limit : static_cast<std::uint64_t>(rank);
  };
  const std::uint64_t low = at(expected - spread), high = at(expected + spread);
  std::size_t below = 0, near = 0;
  close.resize(2 * kReservoirSize + 1);
  for (const Kept& one : kept) {
    below += one.rank < low ? 1 : 0;
    close[near] = one.rank;
    near += one.rank >= low && one.rank <= high ? 1 : 0;
  }
  if (below >= kCount || below + near < kCount) {  // by chance, hardly ever
    std::transform(kept.begin(), kept.end(), close.begin(),
                   [](const Kept& one) { return one.rank; });
    below = 0;
    near = kept.size();
  }
  const auto nth = close.begin() + static_cast<std::ptrdiff_t>(kCount - 1 - below);
  std::nth_element(close.begin(), nth, close.begin() + static_cast<std::ptrdiff_t>(near));
  return *nth;
}

}  // namespace

template <std::size_t kSeries>
void ReservoirKeeper<kSeries>::MakeRoom() {
  if (kept_.empty()) {
    kept_.reserve(2 * kReservoirSize);
  } else {
    Thin();
  }
}

template <std::size_t kSeries>
void ReservoirKeeper<kSeries>::Thin() {
  if (std::exchange(keep_first_, false)) first_ = kept_;
  limit_ = RankOfLast(kept_, limit_, work_);
  std::size_t left = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    kept_[left] = kept_[i];
    left += kept_[i].rank <= limit_ ? 1 : 0;
  }
  kept_.resize(left);
}

template <std::size_t kSeries>
void ReservoirKeeper<kSeries>::LowerLimit(std::uint64_t limit) {
  if (limit >= lowerable_limit()) return;
  limit_ = limit;
  std::erase_if(kept_, [limit](const auto& one) { return one.rank > limit; });
}

template <std::size_t kSeries>
void ReservoirKeeper<kSeries>::Repeat(const PeriodOffers<kSeries>& period,
                                      const Repetition& repetition,
                                      const std::vector<RepeatedKey>& keys) {
  const PlaceOfOffer* const places = period.places.data();
  for (const RepeatedKey& key : keys) {
    const PlaceOfOffer place = places[key.place];
    const std::int64_t time = key.period - place.periods_later;
    if (place.offer < 0 || time < 0 || time >= repetition.times) continue;
    if (key.rank > limit_ || !MakeRoomFor(key.rank)) continue;
    const Offered<kSeries>& offer = period.offers[static_cast<std::size_t>(place.offer)];
    kept_.push_back({key.rank, key.key, offer.at + repetition.Later(time), offer.values});
  }
}

namespace {
template <std::size_t kSeries>
void SortByKey(std::vector<Offered<kSeries>>& offers) {
  const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };
  if (!std::is_sorted(offers.begin(), offers.end(), by_key))
    std::sort(offers.begin(), offers.end(), by_key);
}
}  // namespace

template <std::size_t kSeries>
void ReservoirKeeper<kSeries>::Finish(Reservoir* series, std::vector<Sampled>* first) {
  if (kept_.size() > kReservoirSize) Thin();
  SortByKey(kept_);
  SortByKey(first_);
  if (first != nullptr) {
    first->reserve(first_.size());
    for (const Offered<kSeries>& one : first_)
      first->push_back({.key = one.key, .at = one.at, .value = one.values[0]});
  }
  for (std::size_t which = 0; which < kSeries; ++which) {
    series[which].seen = seen_;
    series[which].kept.reserve(kept_.size());
    for (const Offered<kSeries>& one : kept_)
      series[which].kept.push_back({.key = one.key, .at = one.at, .value = one.values[which]});
  }
}

template class ReservoirKeeper<1>;
template class ReservoirKeeper<2>;
template class ReservoirKeeper<5>;

// What will not be asked for makes room; where that is little, the ring grows. `usual`: what
// kSpanBatches took before, and will again.
void SpanKeeper::MakeRoom(std::size_t usual) {
  const std::size_t held = size_;
  std::size_t oldest = Oldest();
  while (size_ > 0 && ring_[oldest].batch <= highest_batch_ - kSpanBatches) {
    if (++oldest == ring_.size()) oldest = 0;
    --size_;
  }
  if (8 * (held - size_) > held) return;
  if (ring_.size() == kKeptSpans) {
    size_ = std::min(size_, kKeptSpans - 1);  // the oldest goes
    return;
  }
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
  ring_.erase(ring_.begin(), ring_.end() - static_cast<std::ptrdiff_t>(size_));
  constexpr std::size_t kLeast = 64;
  ring_.resize(std::min(std::max({kLeast, 2 * held, usual + usual / 2}), kKeptSpans));
  next_ = size_;
}

std::vector<Span> SpanKeeper::Last() {
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(Oldest()), ring_.end());
  ring_.resize(size_);
  bool reached = false;  // spans of no batch count from the first kept batch on
  std::erase_if(ring_, [&](const Span& span) {
    const bool kept = span.batch > highest_batch_ - kSpanBatches;
    reached = reached || (kept && span.batch >= 0);
    return !(span.batch >= 0 ? kept : reached);
  });
  return std::move(ring_);
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
  if (batch.batch <= highest_batch_) {
    return Count(epochs, {batch.batch, batch.reads, batch.bytes, batch.cache_hits});
  }
  MakeRoomFor(batch.batch);
  Reads& reads = Place(batch.batch);
  reads.batch = batch.batch;
  reads.reads = batch.reads;
  reads.bytes = batch.bytes;
  reads.cache_hits = batch.cache_hits;
}

void EpochKeeper::Repeat(std::vector<EpochRecord>& epochs, const PeriodEpochs& period,
                         const Repetition& repetition) {
  if (full_) return;
  const std::int64_t times = repetition.times;
  if (!period.begun.empty()) {
    RepeatWhole(epochs, period, repetition);
  } else {
    EpochRecord& epoch = epochs.back();
    const EpochRecord& added = period.added;
    epoch.end += repetition.length.done * times;
    epoch.starved += added.starved * times;
    epoch.steps += added.steps * times;
    epoch.samples += added.samples * times;
    epoch.reads += added.reads * times;
    epoch.cache_hits += added.cache_hits * times;
    epoch.bytes += added.bytes * times;
  }
  Renumber(repetition.length.steps * times);
}

void EpochKeeper::RepeatWhole(std::vector<EpochRecord>& epochs, const PeriodEpochs& period,
                              const Repetition& repetition) {
  std::int64_t first_batch = highest_batch_ + 1;
  for (std::int64_t time = 0; time < repetition.times; ++time) {
    for (const EpochRecord& of_period : period.begun) {
      epochs.back().complete = true;
      full_ = epochs.size() == kMaxEpochs;
      if (full_) return;
      EpochRecord& epoch = epochs.emplace_back(of_period);
      epoch.epoch += repetition.since_noted.epoch + repetition.length.epoch * time;
      epoch.begin += repetition.Later(time);
      epoch.end += repetition.Later(time);
      epoch.complete = false;
      first_batches_.push_back(first_batch);
      first_batch += epoch.steps;
    }
  }
}

void EpochKeeper::Renumber(std::int64_t batches) {
  std::vector<Reads> before(waiting_.size());
  before.swap(waiting_);
  highest_batch_ += batches;
  for (Reads reads : before) {
    reads.batch += batches;
    if (reads.batch > highest_batch_) Place(reads.batch) = reads;
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
