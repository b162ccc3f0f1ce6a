// Caches the summed demands of chunks of drawn samples. They depend on the samples, the batch size
// and the seed alone, so the points of a sweep and the variants of a diagnosis that differ in
// workers, prefetch, order or device share them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cost/pipeline.h"
#include "engine/chunk_demand.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// Thread-safe: of concurrent calls for one chunk, one stores what all compute alike.
class ChunkSums {
 public:
  /// Chunks from the run's start on that are kept, at most: 16 MiB. Later ones are summed by each
  /// run.
  static constexpr std::int64_t kMostKept = std::int64_t{1} << 18;

  /// Whether the costs of this experiment are drawn, and are the same for all such runs.
  static bool Serve(const spec::Experiment& experiment, const cost::Pipeline& pipeline);
  /// For one accelerator, without a cache in front of the storage, whose hits depend on the run.
  ChunkSums(const spec::Experiment& experiment, const cost::Pipeline& pipeline);
  ~ChunkSums();
  ChunkSums(const ChunkSums&) = delete;
  ChunkSums& operator=(const ChunkSums&) = delete;

  /// The demand of the chunk that begins at `position` of `epoch`: the kept one, else sum(), which
  /// must be what any run would compute.
  template <class Sum>
  ChunkDemand At(std::int64_t epoch, std::int64_t position, const Sum& sum) {
    const std::int64_t batch = position / batch_size_, in_batch = position % batch_size_;
    const std::int64_t place =
        (epoch * batches_ + batch) * chunks_of_batch_ + in_batch / chunk_samples_;
    if (place >= kMostKept) return sum();
    Place& kept = PlaceAt(static_cast<std::size_t>(place));
    if (kept.state.load(std::memory_order_acquire) == kKept) [[likely]]
      return kept.demand;
    const ChunkDemand demand = sum();
    int empty = kEmpty;
    if (kept.state.compare_exchange_strong(empty, kWriting, std::memory_order_relaxed)) {
      kept.demand = demand;
      kept.state.store(kKept, std::memory_order_release);
    }
    return demand;
  }
  /// Whether these are the sums for the given samples, costs, batch size and seed.
  bool Are(const spec::Experiment& experiment, const cost::Pipeline& pipeline) const;

 private:
  enum : int { kEmpty, kWriting, kKept };
  struct Place {
    std::atomic<int> state = kEmpty;
    ChunkDemand demand;
  };
  /// Made on first use, so that short runs take little memory.
  using Block = std::array<Place, 1024>;
  Place& PlaceAt(std::size_t place) {
    Block* block = blocks_[place / std::tuple_size_v<Block>].load(std::memory_order_acquire);
    if (block == nullptr) [[unlikely]]
      block = MakeBlock(place / std::tuple_size_v<Block>);
    return (*block)[place % std::tuple_size_v<Block>];
  }
  Block* MakeBlock(std::size_t which);

  std::int64_t samples_, batch_size_, chunk_samples_;
  std::uint64_t seed_;
  bool shuffle_, drop_last_;
  cost::Samples sizes_;
  cost::Storage storage_;
  cost::Prepare prepare_;
  std::int64_t batches_, chunks_of_batch_;
  std::array<std::atomic<Block*>, kMostKept / std::tuple_size_v<Block>> blocks_{};
};

}  // namespace pipesim::engine
