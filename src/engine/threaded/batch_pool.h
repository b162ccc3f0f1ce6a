// The slots that batches live in between a worker's collate and the end of their step. Slots travel
// by number; their memory comes from BatchMemory, recycled or fresh for each batch.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/batch_memory.h"
#include "engine/dealer.h"
#include "spec/experiment.h"

namespace pipesim::engine::threaded {

struct Slot {
  Batch batch;
  Deal deal;       ///< the place in the epoch that it was made for
  int worker = 0;  ///< that made it
};

/// Thread-safe. A slot belongs to the thread that acquired it; passing on its number passes it on.
class BatchPool {
 public:
  /// `slots` batches of the experiment's size at most; `fresh`: each in newly mapped memory.
  BatchPool(const spec::Experiment& experiment, std::int64_t slots, bool fresh,
            BatchMemory& memory);
  ~BatchPool() { FreeAll(); }
  BatchPool(const BatchPool&) = delete;
  BatchPool& operator=(const BatchPool&) = delete;

  /// A slot with memory for a full batch. Throws std::bad_alloc.
  int Acquire();
  void Release(int slot);
  Slot& operator[](int slot) { return entries_[static_cast<std::size_t>(slot)].slot; }
  base::Bytes batch_bytes() const { return batch_bytes_; }
  std::int64_t slots() const { return static_cast<std::int64_t>(entries_.size()); }
  /// Frees all memory. No slot may be used afterwards.
  void FreeAll();
  /// Leaks all memory on purpose: a hanging worker or device may still use it.
  void Leave();

 private:
  struct Entry {
    Slot slot;
    std::byte* data = nullptr;
    std::vector<std::int64_t> labels;
  };

  BatchMemory& memory_;
  base::Bytes batch_bytes_;
  std::size_t batch_size_;
  bool fresh_;
  std::vector<Entry> entries_;
  std::mutex mutex_;
  std::vector<int> free_;  ///< last in, first out, since the last slot is warm in cache
};

}  // namespace pipesim::engine::threaded
