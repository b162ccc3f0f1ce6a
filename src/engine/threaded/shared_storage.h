// The emulated storage of all workers: one service model under one lock.
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
  cost::StorageUse use() const {
    const std::lock_guard lock(mutex_);
    return model_.use();
  }

 private:
  mutable std::mutex mutex_;
  cost::StorageModel model_;
};

}  // namespace pipesim::engine
