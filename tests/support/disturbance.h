// Whether the machine kept its cores from a test: other programs, or a hypervisor that ran something else.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"

namespace pipesim::support {

/// Watches every processor from its construction on: a thread on each sleeps for 5 ms at a time, at real-time
/// priority where that is allowed, so that this process's own threads do not delay it.
class DisturbanceWatch {
 public:
  DisturbanceWatch();
  ~DisturbanceWatch();
  DisturbanceWatch(const DisturbanceWatch&) = delete;
  DisturbanceWatch& operator=(const DisturbanceWatch&) = delete;

  /// Ends the watch. What disturbed the test, in words, or empty: the watches woke late by more than 2 % of
  /// the time, or processes that are not this one's or its children's used more than 0.2 cores.
  std::string WhatDisturbed();

 private:
  void Watch(int cpu);
  void End();

  std::atomic<bool> ended_{false};
  std::atomic<std::int64_t> late_ns_{0};
  base::Instant begin_{};
  base::Duration busy_{}, own_{};
  std::vector<std::thread> threads_;
};

}  // namespace pipesim::support
