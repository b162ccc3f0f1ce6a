// The loops of `bench` (engine/bench_loop.h): a file for each family of operations.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <memory>

#include "engine/bench_loop.h"
#include "engine/torch/threads.h"

namespace pipesim::engine {

/// The family of the request's operation. Throws OutOfMemory, EnvironmentError (no such device).
std::unique_ptr<BenchLoop> MakeBenchLoop(const BenchRequest& request);

// Each in its own file.
std::unique_ptr<BenchLoop> MakeAddLoop(const BenchRequest& request);
std::unique_ptr<BenchLoop> MakeMatmulLoop(const BenchRequest& request);
std::unique_ptr<BenchLoop> MakeNormLoop(const BenchRequest& request);
std::unique_ptr<BenchLoop> MakeTwoInTurnLoop(const BenchRequest& request);
std::unique_ptr<BenchLoop> MakeStepLoop(const BenchRequest& request);
std::unique_ptr<BenchLoop> MakeHostCopyLoop(const BenchRequest& request);
/// Copies to and from a GPU, and two products at once: implemented in bench_cuda.cc or no_cuda.cc.
std::unique_ptr<BenchLoop> MakeCudaCopyLoop(const BenchRequest& request);
std::unique_ptr<BenchLoop> MakePairLoop(const BenchRequest& request);

/// Makes the device current in the calling thread; does nothing for the CPU. Throws EnvironmentError.
void UseBenchDevice(spec::DeviceId device);
/// Waits for all work of the device; does nothing for the CPU.
void WaitForBenchDevice(spec::DeviceId device);

torch::Device TorchDeviceOf(spec::DeviceId device);

/// Repeats `work(count)` between two readings of the clock and one after the device is done.
template <class Work>
class TimedLoop final : public BenchLoop {
 public:
  TimedLoop(const BenchRequest& request, Work work)
      : device_(request.device), second_(request.second), threads_(request.compute_threads), work_(std::move(work)) {}

  cost::OperationTime Run(std::int64_t count) override {
    threads_.Apply();
    UseBenchDevice(device_);
    const auto begin = std::chrono::steady_clock::now();
    work_(count);
    const auto enqueued = std::chrono::steady_clock::now();
    WaitForBenchDevice(device_);
    WaitForBenchDevice(second_);
    const auto done = std::chrono::steady_clock::now();
    const auto seconds = [&](auto at) { return std::chrono::duration<double>(at - begin).count(); };
    return {device_.IsCpu() ? seconds(done) : seconds(enqueued), seconds(done)};
  }

 private:
  spec::DeviceId device_, second_;
  ComputeThreads threads_;
  Work work_;
};

template <class Work>
std::unique_ptr<BenchLoop> Timed(const BenchRequest& request, Work work) {
  return std::make_unique<TimedLoop<Work>>(request, std::move(work));
}

}  // namespace pipesim::engine
