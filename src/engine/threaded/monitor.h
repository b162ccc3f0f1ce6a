// Watches a run from a thread of its own: drains the recorders, samples resources, asks whether the
// run may end, reports progress, and ends runs that would not end by themselves (a stop flag, a
// timeout). Decides nothing about what is measured.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/cpus.h"
#include "engine/executor.h"
#include "engine/threaded/resource_reader.h"
#include "engine/threaded/run_state.h"

namespace pipesim::engine::threaded {

class Monitor {
 public:
  /// Longest wait for a worker that is inside a read at the run's end, and for the device after a
  /// stop or a failure.
  static constexpr base::Duration kGrace = std::chrono::seconds(2);

  /// Starts the thread. `run` and `control` outlive it.
  Monitor(RunState& run, const RunControl& control, const base::CpuAllowance& cpus);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

 private:
  struct Point {
    base::Instant at;
    std::int64_t samples = 0;
  };

  void Loop();
  void Tick(base::Instant now);
  void CheckStop(base::Instant now);
  void CheckTimeout(base::Instant now);
  void SampleResources(base::Instant now);
  void AskEnough(base::Instant now);
  void ReadGpuIfDue(base::Instant now);
  void ReportProgress(base::Instant now);

  RunState& run_;
  const RunControl& control_;
  ResourceReader resources_;
  std::deque<Point> lately_;  ///< progress over about the last second
  trace::GpuReading gpu_;     ///< the last one
  base::Instant next_sample_, next_reading_, next_progress_;
  bool measured_ = false;  ///< nothing is recorded any more
  std::optional<base::Instant> hurried_since_;  ///< stopped by the user or by a failure

  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipesim::engine::threaded
