// The cache in front of the emulated storage: an ideal page cache of whole samples, each with the
// bytes drawn for it. Decides which reads hit. Knows no time: the engine spends bytes /
// hit_bandwidth of CPU time per hit.
//
// lru evicts the least recently read sample, random a uniformly drawn one. A sample larger than the
// cache is never kept. A read hits under lru if fewer distinct samples than fit were read since the
// last read of the same sample. So with a fresh shuffle each epoch and a cache that holds a share c
// of the data set, lru hits c + (1 - c) ln(1 - c); with the same order each epoch it never hits.
//
// `warm` fills that share of the cache before the first read with the last samples of the epoch
// before the run (shuffled by the seed as epoch -1, or in the data set's order), oldest first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.h"
#include "cost/pipeline.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Stored size of a sample; the same draw every epoch.
base::Bytes StoredBytes(const base::Drawn<base::Bytes>& stored, std::uint64_t seed,
                        std::int64_t sample);

/// Samples in the order of their last use. Every operation is O(1). Takes 8 bytes per sample of the
/// data set.
class RecencyList {
 public:
  explicit RecencyList(std::size_t samples);
  bool Holds(std::uint32_t sample) const { return older_[sample] != kOut; }
  /// Adds `sample`, which must not be held, as the most recent.
  void Add(std::uint32_t sample);
  void Remove(std::uint32_t sample);
  /// The least recently added sample. At least one must be held.
  std::uint32_t oldest() const { return newer_[End()]; }

 private:
  static constexpr std::uint32_t kOut = UINT32_MAX;
  std::uint32_t End() const { return static_cast<std::uint32_t>(older_.size() - 1); }
  // A ring closed by a sentinel, whose neighbours are the latest and the oldest sample.
  std::vector<std::uint32_t> older_, newer_;
};

/// An unordered set of samples with random access. Every operation is O(1). Takes 4 bytes per
/// sample of the data set and 4 per sample held.
class SampleBag {
 public:
  explicit SampleBag(std::size_t samples) : place_(samples, kOut) {}
  bool Holds(std::uint32_t sample) const { return place_[sample] != kOut; }
  void Add(std::uint32_t sample);
  void Remove(std::uint32_t sample);
  std::size_t size() const { return held_.size(); }
  std::uint32_t operator[](std::size_t index) const { return held_[index]; }

 private:
  static constexpr std::uint32_t kOut = UINT32_MAX;
  std::vector<std::uint32_t> place_, held_;
};

/// Whether every read of a run hits: the samples are of one size, and the cache begins with all of them.
bool EveryReadHits(const spec::Experiment& experiment, const Pipeline& pipeline);

/// Not thread-safe; the threaded engine guards it with a lock. Deterministic for a seed and an
/// order of accesses.
class SampleCache {
 public:
  /// Their StoredBytes, from wherever they are kept.
  using SizeOf = std::function<base::Bytes(std::int64_t sample)>;
  /// nullopt where the storage has no cache, or none that need decide. The data set must have at most
  /// spec::kMostSamplesBehindCache samples (spec checks this).
  static std::optional<SampleCache> Of(const spec::Experiment& experiment, const Pipeline& pipeline,
                                       SizeOf size_of);

  /// Returns whether the sample is in the cache, and inserts it if not. `bytes` is its StoredBytes.
  /// `epoch` and `position` of the access key the random evictions.
  bool Access(std::int64_t sample, base::Bytes bytes, std::int64_t epoch, std::int64_t position);
  /// Bytes of all cached samples; at most the cache's size.
  base::Bytes used() const { return used_; }

 private:
  SampleCache(const spec::Experiment& experiment, const Pipeline& pipeline, SizeOf size_of);
  void Fill(base::Bytes room, bool shuffled);
  void Add(std::uint32_t sample, base::Bytes bytes);
  void MakeRoom(base::Bytes bytes, std::int64_t epoch, std::int64_t position);
  void Evict(std::uint32_t sample);

  bool lru_;
  base::Bytes size_, used_;
  SizeOf size_of_;
  std::int64_t samples_;  ///< of the data set
  std::uint64_t seed_;
  RecencyList by_use_;  ///< lru; else empty
  SampleBag bag_;       ///< random; else empty
};

}  // namespace pipesim::cost
