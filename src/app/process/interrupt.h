// Ctrl-C: the first one asks the run to drain and report, the second leaves at once. A run has two
// processes: the supervisor counts (supervisor.h), the run only ever hears that it shall drain.
#pragma once

#include <signal.h>

#include "base/clock.h"

namespace pipesim::app {

/// What asks a run to stop.
inline constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// The signal is ignored by whoever started this program, and shall stay so (nohup).
bool IsIgnored(int signal);

/// Tells a person that it takes a moment, and what ends it at once.
void TellThatItStops();

/// From now on the next `forgiven` stop signals do nothing, and the one after them ends this
/// process with 130: a report is being written, which a press too many must not cut off, and a
/// reader that never reads must not hold.
void LeaveOnStopSignalAfter(int forgiven);

/// While it lives, the stop signals set `stop`. Afterwards they are ignored: the run is over, its
/// report is not. One at a time. `stop` must outlive it.
class InterruptHandler {
 public:
  enum class Second {
    kIsAsTheFirst,  ///< in a run's own process, where the supervisor counts
    kLeaves,        ///< ends this process with 130
  };
  explicit InterruptHandler(base::StopFlag& stop, Second second = Second::kIsAsTheFirst);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace pipesim::app
