#include <sys/mman.h>

#include <new>

#include "engine/batch_memory.h"

namespace pipesim::engine {
namespace {

// Straight from the kernel: freshly allocated memory then always pays its page faults, as the
// shared memory of PyTorch's workers does, where malloc would hand out warm pages again.
class HostMemory final : public BatchMemory {
 public:
  std::byte* Allocate(base::Bytes size) override {
    if (size.count <= 0) size.count = 1;
    void* data = mmap(nullptr, static_cast<std::size_t>(size.count), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(data);
  }
  void Free(std::byte* data, base::Bytes size) noexcept override {
    if (data != nullptr) munmap(data, static_cast<std::size_t>(size.count <= 0 ? 1 : size.count));
  }
  bool pinned() const override { return false; }
};

}  // namespace

std::unique_ptr<BatchMemory> MakeHostMemory() { return std::make_unique<HostMemory>(); }

}  // namespace pipesim::engine
