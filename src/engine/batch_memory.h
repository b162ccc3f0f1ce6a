// Memory for batches: a fixed set of slots, passed between worker, queue and trainer by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/units.h"

namespace pipesim::engine {

/// Host memory for batches; the trainer's library may provide page-locked memory. Thread-safe.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  /// 64-byte aligned. Throws std::bad_alloc.
  virtual std::byte* Allocate(base::Bytes size) = 0;
  virtual void Free(std::byte* data, base::Bytes size) noexcept = 0;
  virtual bool pinned() const = 0;
};

/// Ordinary pageable memory.
std::unique_ptr<BatchMemory> MakeHostMemory();

/// One prepared batch. `data` holds `samples` contiguous samples of the data set's shape and dtype,
/// `labels` one class per sample.
struct Batch {
  std::int64_t number = 0;  ///< running number over the run
  std::int64_t epoch = 0;
  std::int64_t index = 0;  ///< within the epoch
  std::int32_t samples = 0;
  std::span<std::byte> data;
  std::span<std::int64_t> labels;
};

}  // namespace pipesim::engine
