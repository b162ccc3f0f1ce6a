#include "engine/torch/threads.h"

#include <ATen/Parallel.h>

namespace pipesim::engine {

ComputeThreads::ComputeThreads(int count) : count_(count) {
  // Only one operation runs at a time. LibTorch accepts this setting once per process, before the
  // first operation that reads it.
  if (at::get_num_interop_threads() != 1) at::set_num_interop_threads(1);
  Apply();
}

void ComputeThreads::Apply() {
  if (applied_in_ == std::this_thread::get_id()) return;
  at::set_num_threads(count_);
  effective_ = at::get_num_threads();
  applied_in_ = std::this_thread::get_id();
}

void ComputeThreads::Use(int count) {
  count_ = count;
  applied_in_ = {};
  Apply();
}

}  // namespace pipesim::engine
