// The threads that share one worker's burning (limits.worker_threads), like the intra-op pool of a
// worker's library. Unlike libgomp's threads, they sleep between calls.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/threaded/burn.h"

namespace pipesim::engine::threaded {

/// Used by one thread, which calls Burn and does its share; starts `threads` − 1 more.
class BurnTeam {
 public:
  /// `on_start` runs once in each thread that is started. Throws std::system_error.
  BurnTeam(int threads, const std::function<void()>& on_start);
  ~BurnTeam();
  BurnTeam(const BurnTeam&) = delete;
  BurnTeam& operator=(const BurnTeam&) = delete;

  /// Burns cost / threads in each thread and waits for the slowest. Ends early when `stop` is set.
  void Burn(base::Duration cost, const base::StopFlag& stop);
  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

 private:
  void End();
  void Help(const std::function<void()>& on_start);

  Burner own_;
  base::Duration owed_{};  ///< the remainder of the division by `threads`
  std::mutex mutex_;
  std::condition_variable called_, finished_;
  std::uint64_t call_ = 0;
  int burning_ = 0;
  bool over_ = false;
  base::Duration share_{};
  const base::StopFlag* stop_ = nullptr;
  std::vector<std::thread> helpers_;
};

/// What a burn of two threads takes beyond each thread's share: waking the second one, and waiting for
/// it. Mean of `burns` burns of 2 x `share`. Throws std::system_error.
base::Duration MeasureHandover(int burns, base::Duration share);

}  // namespace pipesim::engine::threaded
