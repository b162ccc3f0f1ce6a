#include "engine/torch/bench_loops.h"

#include <ATen/Context.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "engine/torch/errors.h"

namespace pipesim::engine {
namespace {

/// LibTorch's exceptions stay inside this library.
class TranslatedLoop final : public BenchLoop {
 public:
  TranslatedLoop(std::string device, const std::function<std::unique_ptr<BenchLoop>()>& make)
      : device_(std::move(device)), loop_(Translated(device_, FreeHostMemory, make)) {}
  cost::OperationTime Run(std::int64_t count) override {
    return Translated(device_, FreeHostMemory, [&] { return loop_->Run(count); });
  }

 private:
  std::string device_;
  std::unique_ptr<BenchLoop> loop_;
};

std::unique_ptr<BenchLoop> MakePlainLoop(const BenchRequest& request) {
  using cost::Operation;
  UseBenchDevice(request.device);
  if (request.device.IsCuda())
    at::globalContext().setAllowTF32CuBLAS(request.experiment.training.precision == spec::Precision::kTf32);
  switch (request.operation) {
    case Operation::kAdd:
      return MakeAddLoop(request);
    case Operation::kMatmul:
      return MakeMatmulLoop(request);
    case Operation::kNormEach:
    case Operation::kNormOnce:
      return MakeNormLoop(request);
    case Operation::kHostCopy:
      return MakeHostCopyLoop(request);
    case Operation::kPinnedIn:
    case Operation::kPageableIn:
    case Operation::kPinnedOut:
    case Operation::kPageableOut:
      return MakeCudaCopyLoop(request);
    case Operation::kTwoInTurn:
      return MakeTwoInTurnLoop(request);
    case Operation::kTwoStreams:
    case Operation::kTwoDevices:
      return MakePairLoop(request);
    case Operation::kStep:
      return MakeStepLoop(request);
  }
  throw std::logic_error("an operation that is not in the list");
}

}  // namespace

torch::Device TorchDeviceOf(spec::DeviceId device) {
  if (device.IsCpu()) return torch::kCPU;
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
}

std::unique_ptr<BenchLoop> MakeBenchLoop(const BenchRequest& request) {
  // Threads count from the first operation on, also for making the operands.
  ComputeThreads(request.compute_threads).Apply();
  return std::make_unique<TranslatedLoop>(spec::ToText(request.device),
                                          [&] { return MakePlainLoop(request); });
}

}  // namespace pipesim::engine
