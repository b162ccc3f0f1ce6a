#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <array>
#include <new>

#include "base/error.h"
#include "engine/torch/cuda.h"
#include "engine/torch/errors.h"

namespace pipesim::engine {
namespace {

/// What earlier trainers of this process gave back to LibTorch's allocator, which keeps it.
std::int64_t CachedBytes(c10::DeviceIndex index) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  if (!allocator::get()->initialized()) return 0;
  const auto stats = allocator::getDeviceStats(index);
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return stats.reserved_bytes[all].current - stats.allocated_bytes[all].current;
}

TorchDevice Describe(c10::DeviceIndex index) {
  const c10::cuda::CUDAGuard guard(index);
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  std::array<char, 32> bus_id{};
  C10_CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), index));
  std::size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return {.name = spec::ToText(spec::DeviceId::Cuda(index)),
          .device_name = properties.name,
          .memory = {static_cast<std::int64_t>(total)},
          .memory_free = {static_cast<std::int64_t>(free) + CachedBytes(index)},
          .capability_major = properties.major,
          .capability_minor = properties.minor,
          .pci_bus_id = bus_id.data()};
}

class PinnedMemory final : public BatchMemory {
 public:
  /// Allocates in the context of the device that is current at construction, in whichever thread:
  /// another device's context would take memory on that device.
  PinnedMemory() : device_(c10::cuda::current_device()) {}

  std::byte* Allocate(base::Bytes size) override {
    const c10::cuda::CUDAGuard guard(device_);
    void* data = nullptr;
    if (cudaHostAlloc(&data, static_cast<std::size_t>(size.count), cudaHostAllocPortable) !=
        cudaSuccess) {
      (void)cudaGetLastError();
      throw std::bad_alloc();
    }
    return static_cast<std::byte*>(data);
  }
  void Free(std::byte* data, base::Bytes) noexcept override {
    const KeepWarnings keep;
    C10_CUDA_CHECK_WARN(cudaFreeHost(data));
  }
  bool pinned() const override { return true; }

 private:
  c10::DeviceIndex device_;
};

}  // namespace

std::vector<TorchDevice> CudaDevices() {
  return Translated("cuda", FreeHostMemory, [] {
    std::vector<TorchDevice> devices;
    for (c10::DeviceIndex i = 0; i < c10::cuda::device_count(); ++i) devices.push_back(Describe(i));
    return devices;
  });
}

std::unique_ptr<BatchMemory> MakePinnedMemory() {
  if (c10::cuda::device_count() == 0)
    throw base::EnvironmentError("page-locked memory needs a CUDA device, and there is none");
  return Translated("cuda", FreeHostMemory,
                    [] { return std::unique_ptr<BatchMemory>(std::make_unique<PinnedMemory>()); });
}

}  // namespace pipesim::engine
