// Traces of PyTorch's profiler, packed or not: sums stay within the trace's time.
#include <cmath>

#include "fuzz.h"
#include "interop/profiler_trace.h"
#include "interop/trace_verdict.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  static const MemoryFile file;
  file.Write(input);
  Accepted([&] {
    const interop::TraceSummary trace = interop::ReadProfilerTrace(file.path());
    Require(trace.steps >= 2, "a trace that is accepted has steps");
    const interop::TraceVerdict verdict = interop::Judge(trace);
    Require(!std::isnan(verdict.gain), "a gain is a number");
    RequirePrintable(interop::VerdictText(trace, verdict, "t.json"));
    RequirePrintable(interop::ExperimentText(trace, verdict, "t.json"));
  });
}

}  // namespace pipesim::fuzz
