// Starts the run as a process of its own and sees it to its end, so that a run which the kernel
// kills still ends in a report. Knows processes and signals; nothing of what a run is, and prints
// nothing but the note on Ctrl-C.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/process/handover.h"
#include "base/clock.h"
#include "base/units.h"

namespace pipesim::app {

/// How a run's process ended.
struct ProcessEnd {
  std::optional<int> code;         ///< it left by itself
  int signal = 0;                  ///< else: what ended it
  bool interrupted = false;        ///< at once, on request: there is nothing to report
  base::Bytes peak_resident;       ///< 0: unknown
  std::optional<bool> oom_killed;  ///< the kernel killed for want of memory meanwhile; nullopt:
                                   ///< nobody counts
};

/// In a process that Supervise started: what it is to leave its report in; nullopt in any other.
/// Call once, before anything else. From then on the process dies with the one that started it.
/// Throws base::EnvironmentError when that one is gone already.
std::optional<Handover> HandoverToParent();

/// Runs this program again with the same `words`, told to hand its report over, and waits. The
/// first SIGINT, SIGTERM or SIGHUP, to this process or to the whole terminal, is passed on as a
/// request to drain; a second one kills the run. Once it has
/// returned, another such signal is forgiven and the next ends this process. Call from a process
/// with one thread. Throws base::EnvironmentError when no process can be started.
ProcessEnd Supervise(const std::vector<std::string>& words, const Handover& handover);

/// The same beside this process's own work: what the run left, nullopt when it died. Takes no
/// signals; once `stop` is set, which may be nullptr, the run is asked to drain.
std::optional<Outcome> RunBeside(const std::vector<std::string>& words, const base::StopFlag* stop);

/// The report of a run that died without one: status, what ended it, how far it had come.
Outcome OutcomeOfDeath(report::Document begun, const ProcessEnd& end,
                       const std::optional<LastProgress>& last);

/// The same where memory ran out in the run's process and it could still say so.
Outcome OutcomeWithoutMemory(report::Document begun, const std::optional<LastProgress>& last);

/// "the run's process was killed by ...": why there is no result.
std::string DeathText(const ProcessEnd& end);

}  // namespace pipesim::app
