// Copies to and from a GPU, and two products at once.
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <string>

#include "base/error.h"
#include "engine/torch/bench_loops.h"
#include "engine/torch/cuda.h"

namespace pipesim::engine {
namespace {

using cost::Operation;

torch::Tensor Square(std::int64_t size, spec::DeviceId device) {
  return torch::rand({size, size}, TorchDeviceOf(device));
}

/// Each product has a stream of its own; streams of the pool run beside each other.
std::unique_ptr<BenchLoop> TwoStreams(const BenchRequest& request) {
  const auto index = static_cast<c10::DeviceIndex>(request.device.index);
  const auto first = c10::cuda::getStreamFromPool(false, index);
  const auto second = c10::cuda::getStreamFromPool(false, index);
  const torch::Tensor a = Square(request.size, request.device);
  WaitForBenchDevice(request.device);
  return Timed(request, [a, first, second](std::int64_t count) {
    const torch::NoGradGuard no_grad;
    for (std::int64_t i = 0; i < count; ++i)
      for (const auto& stream : {first, second}) {
        const c10::cuda::CUDAStreamGuard guard(stream);
        torch::mm(a, a);
      }
  });
}

std::unique_ptr<BenchLoop> TwoDevices(const BenchRequest& request) {
  UseBenchDevice(request.second);
  const torch::Tensor b = Square(request.size, request.second);
  UseBenchDevice(request.device);
  return Timed(request, [a = Square(request.size, request.device), b](std::int64_t count) {
    const torch::NoGradGuard no_grad;
    for (std::int64_t i = 0; i < count; ++i) {
      torch::mm(a, a);
      torch::mm(b, b);
    }
  });
}

}  // namespace

void UseBenchDevice(spec::DeviceId device) {
  if (!device.IsCuda()) return;
  if (device.index >= c10::cuda::device_count())
    throw base::EnvironmentError("there is no " + spec::ToText(device) + " here");
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(device.index));
}

void WaitForBenchDevice(spec::DeviceId device) {
  if (!device.IsCuda()) return;
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device.index));
  c10::cuda::device_synchronize();
}

std::unique_ptr<BenchLoop> MakeCudaCopyLoop(const BenchRequest& request) {
  const Operation operation = request.operation;
  const bool pinned = operation == Operation::kPinnedIn || operation == Operation::kPinnedOut;
  const bool in = operation == Operation::kPinnedIn || operation == Operation::kPageableIn;
  const auto host_options = torch::TensorOptions(torch::kByte).pinned_memory(pinned);
  const torch::Tensor host = torch::empty({request.size}, host_options).fill_(1);
  const torch::Tensor device = torch::zeros(
      {request.size}, torch::TensorOptions(torch::kByte).device(TorchDeviceOf(request.device)));
  const auto index = static_cast<c10::DeviceIndex>(request.device.index);
  const auto stream = c10::cuda::getStreamFromPool(false, index);
  WaitForBenchDevice(request.device);
  void* const from = in ? host.data_ptr() : device.data_ptr();
  void* const to = in ? device.data_ptr() : host.data_ptr();
  const auto kind = in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  const auto size = static_cast<std::size_t>(request.size);
  return Timed(request, [host, device, from, to, kind, size, stream](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      C10_CUDA_CHECK(cudaMemcpyAsync(to, from, size, kind, stream));
  });
}

std::unique_ptr<BenchLoop> MakePairLoop(const BenchRequest& request) {
  if (!request.device.IsCuda())
    throw base::EnvironmentError("two products at once need a GPU");
  return request.operation == Operation::kTwoStreams ? TwoStreams(request) : TwoDevices(request);
}

}  // namespace pipesim::engine
