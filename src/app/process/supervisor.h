// Starts the run in a child process and waits for it, so that a run that the kernel kills still
// ends in a report. Handles processes and signals only; prints nothing but the note on Ctrl-C.
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
  std::optional<int> code;         ///< its exit code, if it exited
  int signal = 0;                  ///< else: the signal that ended it
  bool interrupted = false;        ///< by a second Ctrl-C: there is nothing to report
  base::Bytes peak_resident;       ///< 0: unknown
  std::optional<bool> oom_killed;  ///< an out-of-memory kill happened meanwhile; nullopt:
                                   ///< the kernel does not count them
};

/// In a process that Supervise started, the place for its report; nullopt in any other. Call once,
/// before anything else. From then on the process dies with its parent. Throws
/// base::EnvironmentError when the parent is already gone.
std::optional<Handover> HandoverToParent();

/// Runs this program again with the same `words` as a child that hands its report over, and waits.
/// The first SIGINT, SIGTERM or SIGHUP, to this process or to the whole terminal, is passed on as a
/// request to drain; a second one kills the run. After the return, one more such signal is ignored
/// and the next ends this process. Call from a process with one thread. Throws
/// base::EnvironmentError when no process can be started.
ProcessEnd Supervise(const std::vector<std::string>& words, const Handover& handover);

/// The same without handling signals, for a process that has other threads. Returns the outcome, of
/// a run that died the one that OutcomeOfDeath makes; its document is null if the run did not begin,
/// and the first note then says why.
/// When `stop` (may be nullptr) is set, the run is asked to drain. After `limit` it is killed.
Outcome RunBeside(const std::vector<std::string>& words, const base::StopFlag* stop,
                  std::optional<base::Duration> limit = std::nullopt);

/// The report of a run that died without one: its status, what ended it, how far it got.
Outcome OutcomeOfDeath(report::Document begun, const ProcessEnd& end,
                       const std::optional<LastProgress>& last);

/// The same when the run's process caught std::bad_alloc.
Outcome OutcomeWithoutMemory(report::Document begun, const std::optional<LastProgress>& last);

/// "the run's process was killed by ...": why there is no result.
std::string DeathText(const ProcessEnd& end);

}  // namespace pipesim::app
