#include "engine/torch/bench_loops.h"

namespace pipesim::engine {
namespace {

/// Small enough that no product leaves fp32's range.
torch::Tensor Matrix(const BenchRequest& request) {
  return torch::rand({request.size, request.size}, TorchDeviceOf(request.device));
}

}  // namespace

std::unique_ptr<BenchLoop> MakeMatmulLoop(const BenchRequest& request) {
  return Timed(request, [a = Matrix(request)](std::int64_t count) {
    const torch::NoGradGuard no_grad;
    for (std::int64_t i = 0; i < count; ++i) torch::mm(a, a);
  });
}

std::unique_ptr<BenchLoop> MakeTwoInTurnLoop(const BenchRequest& request) {
  return Timed(request, [a = Matrix(request)](std::int64_t count) {
    const torch::NoGradGuard no_grad;
    for (std::int64_t i = 0; i < 2 * count; ++i) torch::mm(a, a);
  });
}

// Dive into Deep Learning, section 5.6: the norm as a logged value.
std::unique_ptr<BenchLoop> MakeNormLoop(const BenchRequest& request) {
  const bool each = request.operation == cost::Operation::kNormEach;
  return Timed(request, [a = Matrix(request), each](std::int64_t count) {
    const torch::NoGradGuard no_grad;
    torch::Tensor norm;
    for (std::int64_t i = 0; i < count; ++i) {
      norm = torch::mm(a, a).norm();
      if (each) norm.item<float>();
    }
    if (!each) norm.item<float>();
  });
}

}  // namespace pipesim::engine
