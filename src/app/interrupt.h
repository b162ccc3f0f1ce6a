// Ctrl-C: the first one asks the run to drain and report, the second leaves at once.
#pragma once

#include "base/clock.h"

namespace pipesim::app {

/// While it lives, SIGINT and SIGTERM set `stop`; a second one ends the process with 130. One at a
/// time. `stop` must outlive it.
class InterruptHandler {
 public:
  explicit InterruptHandler(base::StopFlag& stop);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace pipesim::app
