// The report of a run whose process died: what killed it, how far it got, and which exit code
// that means.
#include <fmt/format.h>
#include <signal.h>

#include <cstring>

#include "app/process/supervisor.h"
#include "report/format.h"

namespace pipesim::app {
namespace {

bool OwnFault(int signal) {
  for (const int each : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
    if (signal == each) return true;
  return false;
}

bool OutOfMemory(const ProcessEnd& end) {
  return end.signal == SIGKILL && end.oom_killed.value_or(false);
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return fmt::format("signal {} (SIG{})", signal, name != nullptr ? name : "?");
}

std::string Progressed(const std::optional<LastProgress>& last) {
  if (!last) return "it died before it reported a step";
  return fmt::format("until then {} steps and {} samples in {}, lately {} samples/s",
                     report::WithCommas(last->steps), report::WithCommas(last->samples),
                     report::Seconds(base::ToSeconds(last->elapsed), 3),
                     report::Significant(last->samples_per_s, 3));
}

report::Document Ended(report::Document begun, bool memory, const std::string& why) {
  report::Document& result = begun["result"];
  result["status"] = memory ? "oom" : "failed";
  result["stopped_by"] = memory ? "out_of_memory" : "failure";
  result["failure"] = why;
  begun["warnings"] = report::Document::array();  // they describe a run without any step
  return begun;
}

}  // namespace

std::string DeathText(const ProcessEnd& end) {
  std::string peak;
  if (end.peak_resident.count > 0)
    peak = fmt::format(", which held {} at its peak",
                       report::Amount(static_cast<double>(end.peak_resident.count)));
  if (end.code)
    return fmt::format("the run's process exited with code {} without a report", *end.code);
  if (OutOfMemory(end))
    return fmt::format("memory ran out and the kernel killed the run's process{}", peak);
  if (OwnFault(end.signal))
    return fmt::format(
        "internal error: pipesim or a library it uses crashed with {}; please "
        "report this with the command that ran",
        SignalName(end.signal));
  if (end.signal == SIGKILL)
    return fmt::format("the run's process{} was killed by {}, {}", peak.empty() ? "" : peak + ",",
                       SignalName(end.signal),
                       end.oom_killed
                           ? "but not because memory ran out: the kernel counted no such kill, so "
                             "a user or another program ended it"
                           : "perhaps because memory ran out: the kernel does not count such kills "
                             "here, but its log (dmesg) may show one");
  return fmt::format("the run's process was killed by {}", SignalName(end.signal));
}

Outcome OutcomeOfDeath(report::Document begun, const ProcessEnd& end,
                       const std::optional<LastProgress>& last) {
  const bool internal = end.code || OwnFault(end.signal);
  return {Ended(std::move(begun), OutOfMemory(end), DeathText(end) + "; " + Progressed(last)),
          {},
          internal ? base::ExitCode::kInternal : base::ExitCode::kRunFailed};
}

Outcome OutcomeWithoutMemory(report::Document begun, const std::optional<LastProgress>& last) {
  return {Ended(std::move(begun), true,
                "the run's process ran out of memory outside of any step or worker; " +
                    Progressed(last)),
          {},
          base::ExitCode::kRunFailed};
}

}  // namespace pipesim::app
