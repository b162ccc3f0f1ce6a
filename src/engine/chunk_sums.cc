#include "engine/chunk_sums.h"

#include <algorithm>
#include <memory>

namespace pipesim::engine {

bool ChunkSums::Serve(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const cost::Storage& storage = pipeline.storage;
  const bool fixed = pipeline.samples.stored.IsFixed() && pipeline.prepare.IsFixed() &&
                     storage.latency.IsFixed() && storage.open_cost.IsFixed();
  return !fixed && !storage.HasCache() && experiment.run.accelerators == 1;
}

ChunkSums::ChunkSums(const spec::Experiment& experiment, const cost::Pipeline& pipeline)
    : samples_(experiment.dataset.samples),
      batch_size_(std::max<std::int64_t>(experiment.loader.batch_size, 1)),
      chunk_samples_(std::max<std::int64_t>(cost::ChunkSamples(experiment, pipeline), 1)),
      seed_(experiment.run.seed),
      shuffle_(experiment.loader.shuffle),
      drop_last_(experiment.loader.drop_last),
      sizes_(pipeline.samples),
      storage_(pipeline.storage),
      prepare_(pipeline.prepare),
      batches_(spec::BatchesPerEpoch(experiment)),
      chunks_of_batch_((batch_size_ + chunk_samples_ - 1) / chunk_samples_) {}

ChunkSums::~ChunkSums() {
  for (const std::atomic<Block*>& block : blocks_) delete block.load();
}

ChunkSums::Block* ChunkSums::MakeBlock(std::size_t which) {
  auto made = std::make_unique<Block>();
  Block* kept = nullptr;
  // Another run may have been faster.
  if (blocks_[which].compare_exchange_strong(kept, made.get(), std::memory_order_acq_rel))
    kept = made.release();
  return kept;
}

bool ChunkSums::Are(const spec::Experiment& experiment, const cost::Pipeline& pipeline) const {
  return samples_ == experiment.dataset.samples && batch_size_ == experiment.loader.batch_size &&
         chunk_samples_ == std::max<std::int64_t>(cost::ChunkSamples(experiment, pipeline), 1) &&
         seed_ == experiment.run.seed && shuffle_ == experiment.loader.shuffle &&
         drop_last_ == experiment.loader.drop_last && sizes_ == pipeline.samples &&
         storage_ == pipeline.storage && prepare_ == pipeline.prepare;
}

}  // namespace pipesim::engine
