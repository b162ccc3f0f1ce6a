#include <cstring>

#include "engine/torch/bench_loops.h"

namespace pipesim::engine {

std::unique_ptr<BenchLoop> MakeHostCopyLoop(const BenchRequest& request) {
  // Filled, so that the pages exist.
  const torch::Tensor from = torch::ones({request.size}, torch::kByte);
  const torch::Tensor to = torch::zeros({request.size}, torch::kByte);
  return Timed(request, [from, to, size = static_cast<std::size_t>(request.size)](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to.data_ptr(), from.data_ptr(), size);
  });
}

}  // namespace pipesim::engine
