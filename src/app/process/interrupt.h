// Ctrl-C: the first one asks the run to drain and report, the second leaves at once. A run has two
// processes: the supervisor counts (supervisor.h), the run is only asked to drain.
#pragma once

#include <signal.h>

#include <chrono>

#include "base/clock.h"

namespace pipesim::app {

/// The signals that ask a run to stop.
inline constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// Signals closer together than this are one request: timeout(1) and many job managers signal both
/// the process and its group.
inline constexpr std::chrono::nanoseconds kOneRequest = std::chrono::milliseconds(100);

/// The program was started with this signal ignored (nohup), so it stays ignored.
bool IsIgnored(int signal);

/// Tells the user that the run stops after this step and that a second Ctrl-C exits at once.
void TellThatItStops();

/// From now on the next `forgiven` stop requests do nothing, and the one after them ends this
/// process with 130: an extra Ctrl-C must not truncate the report, but the user must be able to
/// leave when the reader of a pipe never reads.
void LeaveOnStopSignalAfter(int forgiven);

/// While it lives, the stop signals set `stop`. Afterwards they are ignored, since the report of
/// the finished run is still to be written. One at a time. `stop` must outlive it.
class InterruptHandler {
 public:
  enum class Second {
    kIsAsTheFirst,  ///< in a run's own process, where the supervisor counts
    kLeaves,        ///< ends this process with 130, unless it is part of the same request
  };
  explicit InterruptHandler(base::StopFlag& stop, Second second = Second::kIsAsTheFirst);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace pipesim::app
