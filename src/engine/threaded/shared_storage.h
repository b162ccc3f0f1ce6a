// The storage of all workers: the emulated one's service model under one lock, and the counters of
// real reads.
#pragma once

#include <mutex>

#include "cost/storage.h"

namespace pipesim::engine {

/// Thread-safe.
class SharedStorage {
 public:
  explicit SharedStorage(const spec::Storage& storage) : model_(storage) {}
  base::Instant Ask(const cost::StorageAsk& ask) {
    const std::lock_guard lock(mutex_);
    return model_.Ask(ask);
  }
  /// A real read was done.
  void CountRead(base::Bytes bytes) {
    const std::lock_guard lock(mutex_);
    ++real_.reads;
    real_.bytes += bytes;
  }
  /// A run has emulated or real storage, never both.
  cost::StorageUse use() const {
    const std::lock_guard lock(mutex_);
    return real_.reads > 0 ? real_ : model_.use();
  }

 private:
  mutable std::mutex mutex_;
  cost::StorageModel model_;
  cost::StorageUse real_;
};

}  // namespace pipesim::engine
