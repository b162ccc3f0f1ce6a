#include "engine/threaded/batch_pool.h"

#include <algorithm>
#include <stdexcept>

namespace pipesim::engine::threaded {

BatchPool::BatchPool(const spec::Experiment& experiment, std::int64_t slots, bool fresh,
                     BatchMemory& memory)
    : memory_(memory),
      batch_bytes_(spec::PreparedBytes(experiment.dataset) * experiment.loader.batch_size),
      batch_size_(static_cast<std::size_t>(experiment.loader.batch_size)),
      fresh_(fresh),
      entries_(static_cast<std::size_t>(slots)) {
  for (std::size_t slot = entries_.size(); slot-- > 0;) free_.push_back(static_cast<int>(slot));
}

int BatchPool::Acquire() {
  int slot = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) throw std::logic_error("more batches exist than the window allows");
    slot = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[static_cast<std::size_t>(slot)];
  if (entry.data == nullptr) entry.data = memory_.Allocate(batch_bytes_);
  entry.labels.resize(batch_size_);
  entry.slot.batch.data = {entry.data, static_cast<std::size_t>(batch_bytes_.count)};
  entry.slot.batch.labels = entry.labels;
  return slot;
}

void BatchPool::Release(int slot) {
  Entry& entry = entries_[static_cast<std::size_t>(slot)];
  if (fresh_) {
    memory_.Free(entry.data, batch_bytes_);
    entry.data = nullptr;
  }
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

void BatchPool::FreeAll() {
  for (Entry& entry : entries_) {
    if (entry.data != nullptr) memory_.Free(entry.data, batch_bytes_);
    entry.data = nullptr;
  }
}

void BatchPool::Leave() {
  for (Entry& entry : entries_) entry.data = nullptr;
}

}  // namespace pipesim::engine::threaded
