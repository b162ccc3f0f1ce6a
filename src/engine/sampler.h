// The samples of each batch of a run and their demands: bytes, latency, preparation. All are keyed
// draws, so every engine sees the same samples on any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/random.h"
#include "base/units.h"
#include "cost/pipeline.h"
#include "cost/sample_cache.h"
#include "engine/chunk_demand.h"
#include "engine/chunk_sums.h"
#include "engine/sample_draws.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// Draws that runs of similar experiments share instead of repeating them.
struct KeptDraws {
  /// nullptr: drawn by each run itself
  std::shared_ptr<const SampleDraws> sample_bytes{}, prepare{}, prepare_wait{};
  std::shared_ptr<ChunkSums> sums{};  ///< nullptr: summed by each run itself
};

/// Thread-safe: nothing changes after construction.
class Sampler {
 public:
  Sampler(const spec::Experiment& experiment, const cost::Pipeline& pipeline, KeptDraws kept = {});

  /// The order of one epoch, as one accelerator sees it: its position -> sample.
  class Epoch {
   public:
    std::int64_t operator()(std::int64_t position) const {
      const std::int64_t place = PlaceOf(position);
      return SampleAt(ranks_ > 1 ? place % samples_ : place);
    }
    /// The samples from `position` on, as many as `samples` has room for.
    void Range(std::int64_t position, std::span<std::uint64_t> samples) const;
    /// The place in the order of the whole data set. A sample dealt twice has a second place after
    /// all others.
    std::int64_t PlaceOf(std::int64_t position) const { return rank_ + position * ranks_; }

   private:
    friend class Sampler;
    Epoch(base::Shuffle order, bool shuffled) : order_(std::move(order)), shuffled_(shuffled) {}
    std::int64_t SampleAt(std::int64_t place) const {
      return shuffled_ ? static_cast<std::int64_t>(order_(static_cast<std::uint64_t>(place)))
                       : place;
    }
    base::Shuffle order_;
    bool shuffled_;
    std::int64_t rank_ = 0, ranks_ = 1, samples_ = 0;
  };
  Epoch EpochOrder(std::int64_t epoch) const;
  /// The share of accelerator `rank` of n = run.accelerators: places rank, rank + n, rank + 2n, ...
  /// (spec::SamplesPerEpoch). Prepared for thousands of look-ups.
  Epoch WholeEpochOrder(std::int64_t epoch, int rank = 0) const;

  /// The demands of `samples` samples from `position` on, for emulated storage and preparation.
  /// Updates `cache`, which is in front of the storage; nullptr: no cache, or every read hits.
  ChunkDemand Demand(std::int64_t epoch, const Epoch& order, std::int64_t position,
                     std::int64_t samples, cost::SampleCache* cache = nullptr) const {
    if (cache != nullptr || !each_) {
      const auto sum = [&] { return SumOfEach(epoch, order, position, samples, cache); };
      return draws_.sums ? draws_.sums->At(epoch, position, sum) : sum();
    }
    return {.reads = each_->reads * samples,
            .bytes = each_->bytes * samples,
            .latency = each_->latency * samples,
            .hits = each_->hits * samples,
            .read_cpu = each_->read_cpu * samples,
            .prepare = each_->prepare * samples,
            .prepare_wait = each_->prepare_wait * samples};
  }
  /// Whether all samples are alike, so that without a cache the order does not matter.
  bool AllAlike() const { return each_.has_value(); }
  /// Whether all workers take the same time to start up.
  bool StartsAlike() const { return worker_startup_.IsFixed(); }
  /// Stored size of a sample.
  base::Bytes StoredBytes(std::int64_t sample) const {
    return draws_.sample_bytes ? base::Bytes{(*draws_.sample_bytes)(sample)} : sample_bytes_;
  }
  /// The class of a generated sample: drawn once, the same every epoch.
  std::int64_t Label(std::int64_t sample) const;
  /// Start-up time of worker `worker` (counted over all accelerators) for `epoch`.
  base::Duration WorkerStartup(std::int64_t epoch, int worker) const;

  // Of batch `batch` of an epoch, counted over all accelerators, with `samples` samples:
  base::Duration Collate(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const;
  base::Duration Share(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const;
  base::Duration Send(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const;
  base::Duration Receive(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const;
  base::Duration Serve(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const;
  base::Duration ReceiveLatency(std::int64_t epoch, std::int64_t batch) const;
  base::Duration ReceiveWait(std::int64_t epoch, std::int64_t batch) const;

 private:
  struct Placed {
    explicit Placed(const base::Drawn<base::Duration>& cost);
    std::optional<base::DistributionSampler> sampler;  ///< nullopt: fixed
    base::Duration fixed;
  };
  ChunkDemand SumOfEach(std::int64_t epoch, const Epoch& order, std::int64_t position,
                        std::int64_t samples, cost::SampleCache* cache) const;
  void AddRead(ChunkDemand& demand, std::int64_t epoch, std::int64_t position, std::int64_t sample,
               cost::SampleCache* cache) const;
  void AddHit(ChunkDemand& demand, base::Bytes bytes) const;
  void AddPrepare(ChunkDemand& demand, std::span<const std::uint64_t> samples) const;
  base::Duration OfBatch(const base::Drawn<base::Duration>& cost, base::Stage stage,
                         std::int64_t epoch, std::int64_t batch) const;
  /// A draw keyed by the place in the epoch.
  base::Duration At(const Placed& cost, base::Stage stage, std::int64_t epoch,
                    std::int64_t position) const;

  std::int64_t samples_, classes_;
  cost::Storage storage_;
  cost::Prepare prepare_;
  cost::Collate collate_;
  cost::HandOver hand_over_;
  base::Drawn<base::Duration> worker_startup_;
  base::Bytes prepared_bytes_;
  bool shuffle_;
  int accelerators_;
  std::uint64_t seed_;
  KeptDraws draws_;  ///< nullptr: fixed
  base::Bytes sample_bytes_;
  Placed latency_, open_cost_;
  bool every_read_hits_;
  std::optional<ChunkDemand> each_;  ///< of each sample, if all are equal
};

}  // namespace pipesim::engine
