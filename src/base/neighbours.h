// Other programs on the same processors, as far as /proc shows them, and whether the kernel shares
// cores with them thread by thread. `root` is where /proc is looked up: "/" except in tests.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace pipesim::base {

/// Programs whose threads the kernel gives equal shares of a core have equal names here: those in
/// one cgroup of the CPU controller and, where that is the root cgroup and autogrouping is on, of
/// one session. Others share by group, whatever their number of threads. Empty: cannot be read.
/// Source: Linux, sched(7), "The autogroup feature"; Documentation/admin-guide/cgroup-v2.rst
/// (cpu.weight).
std::string SchedulingGroup(pid_t process, const std::filesystem::path& root = "/");

/// Watches the other programs from its construction on. Thread-safe after that.
class NeighbourWatch {
 public:
  explicit NeighbourWatch(std::vector<int> cpus, std::filesystem::path root = "/");

  /// Cores that programs in this one's scheduling group used since construction, on average, in the
  /// resolution of the kernel's tick. Counts a program that last ran on one of `cpus`.
  double PeerCores() const;

 private:
  std::vector<int> cpus_;
  std::filesystem::path root_;
  Instant begin_;
  std::map<pid_t, Duration> before_;  ///< CPU time
};

/// Watches what other programs, of any group, take of processors, from its construction on. Children of this
/// process count as others until they have ended.
class OthersWatch {
 public:
  explicit OthersWatch(std::vector<int> cpus);

  /// Cores that they used since construction, on average, in the resolution of the kernel's tick; nullopt: not shown.
  std::optional<double> Cores() const;

 private:
  std::vector<int> cpus_;
  Instant begin_;
  Duration own_;                  ///< CPU time of this process and its ended children
  std::optional<Duration> busy_;  ///< BusyTimeOf
};

/// Watches processors that this process leaves alone, from its construction on.
class IdleWatch {
 public:
  /// A processor whose busy share is below this counts as idle: what the kernel's own threads take.
  static constexpr double kMostBusy = 0.05;

  explicit IdleWatch(std::vector<int> cpus, std::filesystem::path root = "/");

  /// Those that were idle since construction, ascending.
  std::vector<int> Idle() const;

 private:
  std::vector<int> cpus_;
  std::filesystem::path root_;
  Instant begin_;
  std::map<int, Duration> before_;  ///< ReadBusyTimes
};

}  // namespace pipesim::base
