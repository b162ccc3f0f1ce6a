// The worker threads of one run: started, and seen off even if one hangs.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/threaded/call_guard.h"
#include "engine/threaded/run_state.h"

namespace pipesim::engine::threaded {

class Crew {
 public:
  /// Starts loader.workers threads, and the pin thread if there is one. When the system refuses
  /// one, the run ends with that failure.
  explicit Crew(std::shared_ptr<RunState> run);
  /// Joined before, always.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// After RunState::Abort: waits for all threads. One that is still inside a call to the sample
  /// source after `grace` is left behind; returns who.
  std::vector<int> Join(base::Duration grace);

 private:
  /// Outlives the crew in a thread that was left behind.
  struct Post {
    std::shared_ptr<RunState> run;
    CallGuard guard;
    std::mutex mutex;
    std::condition_variable changed;
    bool left = false;
  };
  void Start(const std::shared_ptr<RunState>& run, int worker);
  static void Work(const std::shared_ptr<Post>& post, int worker);

  static constexpr int kPinThread = -1;

  std::vector<std::shared_ptr<Post>> posts_;
  std::vector<std::thread> threads_;
};

}  // namespace pipesim::engine::threaded
