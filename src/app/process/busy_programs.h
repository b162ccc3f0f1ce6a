// Other programs that keep cores busy beside a run, for scenarios that need a noisy neighbour.
#pragma once

#include <sys/types.h>

#include <vector>

namespace pipesim::app {

/// `count` processes that compute nothing, each in a session of its own, so that the kernel's
/// autogrouping gives it the share of a whole program, as another login or container has. Ended by
/// the destructor, or by the kernel when this process dies. Start them before any thread.
class BusyPrograms {
 public:
  /// Throws std::system_error if a process cannot be started.
  explicit BusyPrograms(int count);
  ~BusyPrograms();
  BusyPrograms(const BusyPrograms&) = delete;
  BusyPrograms& operator=(const BusyPrograms&) = delete;

 private:
  void End();
  std::vector<pid_t> pids_;
};

}  // namespace pipesim::app
