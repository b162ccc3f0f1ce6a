// LibTorch's thread count is per calling thread: at::set_num_threads sets it for the caller and as
// default for later threads, and each calling thread has its own OpenMP pool.
#pragma once

#include <thread>

namespace pipesim::engine {

class ComputeThreads {
 public:
  /// `count` >= 1. Takes effect in the calling thread.
  explicit ComputeThreads(int count);
  /// Sets the count in the calling thread if it differs from the last caller.
  void Apply();
  /// Another count from now on; takes effect in the calling thread. The pool of a larger count stays
  /// and sleeps, so going back creates no threads.
  void Use(int count);
  int count() const { return count_; }
  /// The count that LibTorch reports in the thread that last called Apply.
  int effective() const { return effective_; }

 private:
  int count_;
  int effective_ = 0;
  std::thread::id applied_in_;
};

}  // namespace pipesim::engine
