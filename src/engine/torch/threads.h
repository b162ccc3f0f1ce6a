// LibTorch's thread counts are set by each thread for itself: at::set_num_threads in one thread is
// only the default of later ones, and each calling thread has an OpenMP pool of its own.
#pragma once

#include <thread>

namespace pipesim::engine {

class ComputeThreads {
 public:
  /// `count` >= 1. Takes effect in the calling thread.
  explicit ComputeThreads(int count);
  /// Makes it so in the calling thread, if that is another one than the last.
  void Apply();
  /// What LibTorch says it uses in the thread that called Apply last.
  int effective() const { return effective_; }

 private:
  int count_;
  int effective_ = 0;
  std::thread::id applied_in_;
};

}  // namespace pipesim::engine
