// Starts the worker threads of one run and joins them; detaches one that hangs.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/threaded/call_guard.h"
#include "engine/threaded/run_state.h"

namespace pipesim::engine::threaded {

class WorkerThreads {
 public:
  /// Starts loader.workers threads, and the pin thread if there is one. When the system refuses
  /// one, the run ends with that failure.
  explicit WorkerThreads(std::shared_ptr<RunState> run);
  /// Aborts the run and joins if Join was not called because of an exception.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Starts more, until there are `workers`. Throws std::system_error. From the thread that made
  /// this, before Join.
  void StartUpTo(int workers);
  /// Call after RunState::Abort. Joins all threads; detaches those that are still inside a call to
  /// the sample source after `grace` and returns their worker numbers.
  std::vector<int> Join(base::Duration grace);

 private:
  /// Shared with its thread, since a detached thread outlives WorkerThreads.
  struct Post {
    std::shared_ptr<RunState> run;
    int worker = 0;
    CallGuard guard;
    std::mutex mutex;
    std::condition_variable changed;
    bool left = false;
  };
  void Start(int worker);
  static void Work(const std::shared_ptr<Post>& post, int worker);

  static constexpr int kPinThread = -1;

  const std::shared_ptr<RunState> run_;
  int workers_ = 0;  ///< started
  std::vector<std::shared_ptr<Post>> posts_;
  std::vector<std::thread> threads_;
};

}  // namespace pipesim::engine::threaded
