// The storage of all workers: the emulated one's cache and service model under one lock, and the
// counters of real reads.
#pragma once

#include <mutex>
#include <optional>

#include "cost/sample_cache.h"
#include "cost/storage.h"
#include "engine/sampler.h"

namespace pipesim::engine::threaded {

/// Thread-safe.
class SharedStorage {
 public:
  /// `sampler` outlives it.
  SharedStorage(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                const Sampler& sampler)
      : sampler_(sampler),
        server_(pipeline.storage),
        cache_(cost::SampleCache::Of(
            experiment, pipeline,
            [&sampler](std::int64_t sample) { return sampler.StoredBytes(sample); })) {}
  /// The demand of the samples from `position` on: cache hits and reads. Updates the cache.
  ChunkDemand Demand(std::int64_t epoch, const Sampler::Epoch& order, std::int64_t position,
                     std::int64_t samples) {
    if (!cache_) return sampler_.Demand(epoch, order, position, samples);
    const std::lock_guard lock(mutex_);
    return sampler_.Demand(epoch, order, position, samples, &*cache_);
  }
  base::Instant Serve(const cost::ReadRequest& request) {
    const std::lock_guard lock(mutex_);
    return server_.Serve(request);
  }
  /// Counts a real read.
  void CountRead(base::Bytes bytes) {
    const std::lock_guard lock(mutex_);
    ++real_.reads;
    real_.bytes += bytes;
  }
  /// A run has emulated or real storage, never both.
  cost::StorageUse use() const {
    const std::lock_guard lock(mutex_);
    return real_.reads > 0 ? real_ : server_.use();
  }

 private:
  const Sampler& sampler_;
  mutable std::mutex mutex_;
  cost::StorageServer server_;
  std::optional<cost::SampleCache> cache_;
  cost::StorageUse real_;
};

}  // namespace pipesim::engine::threaded
