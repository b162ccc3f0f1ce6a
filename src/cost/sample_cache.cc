#include "cost/sample_cache.h"

#include "base/random.h"

namespace pipesim::cost {

using base::Bytes;

namespace {
std::uint64_t Key(std::int64_t value) { return static_cast<std::uint64_t>(value); }
}  // namespace

Bytes SampleBytes(const spec::Dataset& dataset, std::uint64_t seed, std::int64_t sample) {
  return dataset.sample_bytes.Draw(base::KeyedStream(seed, base::Stage::kSampleSize, Key(sample)));
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

std::optional<SampleCache> SampleCache::Of(const spec::Experiment& experiment,
                                           const Storage& storage) {
  if (!storage.HasCache()) return std::nullopt;
  return SampleCache(experiment, storage.cache);
}

SampleCache::SampleCache(const spec::Experiment& experiment, const spec::Cache& cache)
    : lru_(cache.policy == spec::CachePolicy::kLru),
      size_(cache.size),
      dataset_(experiment.dataset),
      seed_(experiment.run.seed),
      by_use_(lru_ ? static_cast<std::size_t>(dataset_.samples) : 0),
      bag_(lru_ ? 0 : static_cast<std::size_t>(dataset_.samples)) {
  Fill(cache.warm, experiment.loader.shuffle);
}

void SampleCache::Fill(double warm, bool shuffled) {
  const Bytes room{static_cast<std::int64_t>(warm * static_cast<double>(size_.count))};
  const base::Shuffle shuffle(seed_, Key(-1), Key(dataset_.samples));
  const auto sample_at = [&](std::int64_t position) {
    return shuffled ? static_cast<std::int64_t>(shuffle(Key(position))) : position;
  };
  const auto bytes_at = [&](std::int64_t position) {
    return SampleBytes(dataset_, seed_, sample_at(position));
  };
  std::int64_t first = dataset_.samples;
  for (Bytes sum; first > 0; --first) {
    sum += bytes_at(first - 1);
    if (sum > room) break;
  }
  for (std::int64_t at = first; at < dataset_.samples; ++at) {
    Add(static_cast<std::uint32_t>(sample_at(at)), bytes_at(at));
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
  used_ = used_ - SampleBytes(dataset_, seed_, sample);
  if (lru_) {
    by_use_.Remove(sample);
  } else {
    bag_.Remove(sample);
  }
}

}  // namespace pipesim::cost
