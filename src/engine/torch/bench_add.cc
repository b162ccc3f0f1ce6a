#include "engine/torch/bench_loops.h"

namespace pipesim::engine {

// a += a, as in the article; on zeros, so that values stay as they are.
std::unique_ptr<BenchLoop> MakeAddLoop(const BenchRequest& request) {
  torch::Tensor a = torch::zeros({request.size, request.size}, TorchDeviceOf(request.device));
  return Timed(request, [a](std::int64_t count) mutable {
    const torch::NoGradGuard no_grad;
    for (std::int64_t i = 0; i < count; ++i) a.add_(a);
  });
}

}  // namespace pipesim::engine
