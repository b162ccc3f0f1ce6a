// The cache in front of the emulated storage: which samples it holds, and so which reads hit. An
// idealised page cache that keeps whole samples, each with the bytes drawn for it. Knows no time: a
// hit's copy takes bytes / hit_bandwidth of CPU time, which is the engine's to spend.
//
// lru evicts the least recently read sample, random any with equal chance. A sample larger than the
// whole cache is never kept. Over a fresh shuffle each epoch, lru at a cache share c of the data
// set hits c + (1 - c) ln(1 - c), and 0 over the same order each epoch: a read hits when fewer
// distinct samples than fit were read since its last time.
//
// `warm` fills that share of the cache before the first read as an epoch before the run would have
// left it: with the last samples of its order (shuffled by the seed as epoch -1, or the data set's
// own order), the latest read last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// What storage delivers for one sample: drawn once, the same every epoch.
base::Bytes SampleBytes(const spec::Dataset& dataset, std::uint64_t seed, std::int64_t sample);

/// Samples in the order of their last use. Every operation is O(1); 8 bytes for each sample of the
/// data set.
class RecencyList {
 public:
  explicit RecencyList(std::size_t samples);
  bool Holds(std::uint32_t sample) const { return older_[sample] != kOut; }
  /// As the latest. It must not be held.
  void Add(std::uint32_t sample);
  void Remove(std::uint32_t sample);
  /// The least recently added; some must be held.
  std::uint32_t oldest() const { return newer_[End()]; }

 private:
  static constexpr std::uint32_t kOut = UINT32_MAX;
  std::uint32_t End() const { return static_cast<std::uint32_t>(older_.size() - 1); }
  // A ring that is closed by one more place: next to it stand the latest and the oldest.
  std::vector<std::uint32_t> older_, newer_;
};

/// Samples in no order, to pick any. Every operation is O(1); 4 bytes for each sample of the data
/// set and 4 for each held.
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

/// Not thread-safe: the threaded engine holds one lock around it. Deterministic for a seed and an
/// order of accesses.
class SampleCache {
 public:
  /// nullopt where the experiment has no such cache. The data set has at most
  /// spec::kMostSamplesBehindCache samples (spec checks it).
  static std::optional<SampleCache> Of(const spec::Experiment& experiment);

  /// Whether the sample is in the cache; afterwards it is. `bytes` is what SampleBytes says of it.
  /// Epoch and position are the access's own: they key which samples a random cache gives up.
  bool Access(std::int64_t sample, base::Bytes bytes, std::int64_t epoch, std::int64_t position);
  /// Of the samples it holds: at most the cache's size.
  base::Bytes used() const { return used_; }

 private:
  explicit SampleCache(const spec::Experiment& experiment);
  void Fill(const spec::Experiment& experiment);
  void Add(std::uint32_t sample, base::Bytes bytes);
  void MakeRoom(base::Bytes bytes, std::int64_t epoch, std::int64_t position);
  void GiveUp(std::uint32_t sample);

  bool lru_;
  base::Bytes size_, used_;
  spec::Dataset dataset_;
  std::uint64_t seed_;
  RecencyList by_use_;  ///< lru; else without room
  SampleBag bag_;       ///< random; else without room
};

}  // namespace pipesim::cost
