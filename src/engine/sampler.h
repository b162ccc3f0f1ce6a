// What each batch of a run consists of and asks for: which samples, how many bytes, how long. All
// of it keyed draws, so that any engine, on any number of threads, deals with the same samples.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "base/units.h"
#include "cost/sample_cache.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// What some consecutive samples of an epoch ask for, summed.
struct ChunkDemand {
  std::int64_t reads = 0;     ///< that storage serves; 0 where reading costs nothing
  base::Bytes bytes;          ///< of those reads
  base::Duration latency{};   ///< of those reads, open cost included
  std::int64_t hits = 0;      ///< reads that the cache serves instead
  base::Duration hit_copy{};  ///< CPU time of copying them: bytes / hit_bandwidth
  base::Duration prepare{};   ///< CPU time (burn) or waiting (wait)
};

/// Thread-safe: nothing changes after construction.
class Sampler {
 public:
  explicit Sampler(const spec::Experiment& experiment);

  /// The order of one epoch: position -> sample.
  class Epoch {
   public:
    std::int64_t operator()(std::int64_t position) const {
      return shuffled_ ? static_cast<std::int64_t>(order_(static_cast<std::uint64_t>(position)))
                       : position;
    }

   private:
    friend class Sampler;
    Epoch(base::Shuffle order, bool shuffled) : order_(order), shuffled_(shuffled) {}
    base::Shuffle order_;
    bool shuffled_;
  };
  Epoch EpochOrder(std::int64_t epoch) const;

  /// Of `samples` samples from `position` on (of the emulated storage and preparation). `cache`, in
  /// front of the storage, takes them in; nullptr: there is none.
  ChunkDemand Demand(std::int64_t epoch, const Epoch& order, std::int64_t position,
                     std::int64_t samples, cost::SampleCache* cache = nullptr) const;
  /// The class of a generated sample: drawn once, the same every epoch.
  std::int64_t Label(std::int64_t sample) const;
  /// How long worker `worker` takes to come up for `epoch`.
  base::Duration WorkerStartup(std::int64_t epoch, int worker) const;

 private:
  void AddRead(ChunkDemand& demand, std::int64_t epoch, std::int64_t position, std::int64_t sample,
               cost::SampleCache* cache) const;

  spec::Dataset dataset_;
  spec::Storage storage_;
  spec::Prepare prepare_;
  base::Drawn<base::Duration> worker_startup_;
  bool shuffle_;
  std::uint64_t seed_;
  std::optional<ChunkDemand> each_;  ///< of any one sample, where none differs from another
};

}  // namespace pipesim::engine
