#include "cost/sample_cache.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace pipesim::cost {

using base::Bytes;

namespace {
std::uint64_t Key(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// What is in the cache before the first read.
Bytes WarmBytes(const spec::Cache& cache) {
  return {static_cast<std::int64_t>(cache.warm * static_cast<double>(cache.size.count))};
}
}  // namespace

Bytes StoredBytes(const base::Drawn<Bytes>& stored, std::uint64_t seed, std::int64_t sample) {
  return stored.Draw(base::KeyedStream(seed, base::Stage::kSampleSize, Key(sample)));
}

RecencyList::RecencyList(std::size_t samples)
    : older_(samples + 1, kOut), newer_(samples + 1, kOut) {
  older_[End()] = newer_[End()] = End();
}

void RecencyList::Add(std::uint32_t sample) {
  const std::uint32_t latest = older_[End()];
  older_[sample] = latest;
  newer_[sample] = End();
  newer_[latest] = sample;
  older_[End()] = sample;
}

void RecencyList::Remove(std::uint32_t sample) {
  newer_[older_[sample]] = newer_[sample];
  older_[newer_[sample]] = older_[sample];
  older_[sample] = newer_[sample] = kOut;
}

void SampleBag::Add(std::uint32_t sample) {
  place_[sample] = static_cast<std::uint32_t>(held_.size());
  held_.push_back(sample);
}

void SampleBag::Remove(std::uint32_t sample) {
  const std::uint32_t last = held_.back();
  held_[place_[sample]] = last;
  place_[last] = place_[sample];
  place_[sample] = kOut;
  held_.pop_back();
}

bool EveryReadHits(const spec::Experiment& experiment, const Pipeline& pipeline) {
  const base::Drawn<Bytes>& stored = pipeline.samples.stored;
  if (!pipeline.storage.HasCache() || !stored.IsFixed()) return false;
  const Bytes room = WarmBytes(pipeline.storage.cache);
  return stored.Mean().count == 0 || experiment.dataset.samples <= room.count / stored.Mean().count;
}

std::optional<SampleCache> SampleCache::Of(const spec::Experiment& experiment,
                                           const Pipeline& pipeline, SizeOf size_of) {
  if (!pipeline.storage.HasCache() || EveryReadHits(experiment, pipeline)) return std::nullopt;
  return SampleCache(experiment, pipeline, std::move(size_of));
}

SampleCache::SampleCache(const spec::Experiment& experiment, const Pipeline& pipeline,
                         SizeOf size_of)
    : lru_(pipeline.storage.cache.policy == spec::CachePolicy::kLru),
      size_(pipeline.storage.cache.size),
      size_of_(std::move(size_of)),
      samples_(experiment.dataset.samples),
      seed_(experiment.run.seed),
      by_use_(lru_ ? static_cast<std::size_t>(samples_) : 0),
      bag_(lru_ ? 0 : static_cast<std::size_t>(samples_)) {
  Fill(WarmBytes(pipeline.storage.cache), experiment.loader.shuffle);
}

void SampleCache::Fill(Bytes room, bool shuffled) {
  base::Shuffle shuffle(seed_, Key(-1), Key(samples_));
  shuffle.Tabulate();
  constexpr std::int64_t kBlock = 4096;
  std::vector<std::uint64_t> block;
  const auto samples_in = [&](std::int64_t begin, std::int64_t end) -> const auto& {
    block.resize(static_cast<std::size_t>(end - begin));
    if (shuffled)
      shuffle.Range(Key(begin), block);
    else
      std::iota(block.begin(), block.end(), Key(begin));
    return block;
  };
  std::int64_t first = samples_;
  for (Bytes sum; first > 0;) {
    const auto& samples = samples_in(std::max<std::int64_t>(0, first - kBlock), first);
    const auto too_much = std::find_if(samples.rbegin(), samples.rend(), [&](std::uint64_t sample) {
      sum += size_of_(static_cast<std::int64_t>(sample));
      return sum > room;
    });
    first -= too_much - samples.rbegin();
    if (too_much != samples.rend()) break;
  }
  for (std::int64_t begin = first; begin < samples_; begin += kBlock) {
    for (const std::uint64_t sample : samples_in(begin, std::min(begin + kBlock, samples_)))
      Add(static_cast<std::uint32_t>(sample), size_of_(static_cast<std::int64_t>(sample)));
  }
}

bool SampleCache::Access(std::int64_t sample, Bytes bytes, std::int64_t epoch,
                         std::int64_t position) {
  const auto index = static_cast<std::uint32_t>(sample);
  if (lru_ ? by_use_.Holds(index) : bag_.Holds(index)) {
    if (lru_) {
      by_use_.Remove(index);
      by_use_.Add(index);
    }
    return true;
  }
  if (bytes > size_) return false;
  MakeRoom(bytes, epoch, position);
  Add(index, bytes);
  return false;
}

void SampleCache::Add(std::uint32_t sample, Bytes bytes) {
  used_ += bytes;
  if (lru_) {
    by_use_.Add(sample);
  } else {
    bag_.Add(sample);
  }
}

void SampleCache::MakeRoom(Bytes bytes, std::int64_t epoch, std::int64_t position) {
  if (used_ + bytes <= size_) return;
  base::KeyedStream stream(seed_, base::Stage::kCache, Key(epoch), Key(position));
  while (used_ + bytes > size_) {
    Evict(
        lru_
            ? by_use_.oldest()
            : bag_[static_cast<std::size_t>(stream.NextUnit() * static_cast<double>(bag_.size()))]);
  }
}

void SampleCache::Evict(std::uint32_t sample) {
  used_ = used_ - size_of_(sample);
  if (lru_) {
    by_use_.Remove(sample);
  } else {
    bag_.Remove(sample);
  }
}

}  // namespace pipesim::cost
