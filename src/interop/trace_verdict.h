// What a profiler trace says about the bottleneck, in the words of diagnose's verdicts.
#pragma once

#include <string>
#include <vector>

#include "diagnose/verdicts.h"
#include "interop/profiler_trace.h"

namespace pipesim::interop {

struct TraceVerdict {
  /// kInconclusive: the input side, where a trace does not show what happens inside the workers.
  diagnose::Verdict verdict = diagnose::Verdict::kInconclusive;
  double gain = 0;  ///< of the steps' rate, if that time went away
  std::string headline;
  /// "waits for a batch 97 %": shares of a step, the largest first.
  std::vector<std::string> shares = {};
};

/// Each cause's time is taken away in turn; the largest gain names it, from 5 % on. Where no cause
/// reaches that, the step itself limits.
TraceVerdict Judge(const TraceSummary& trace);

/// The loader ran in the training process: workers = 0.
bool LoadsItself(const TraceSummary& trace);

/// The verdict as comments, and an experiment with the times of the trace and what it assumes. Of workers it predicts no
/// change. `source`: its file.
std::string ExperimentText(const TraceSummary& trace, const TraceVerdict& verdict,
                           const std::string& source);
/// The verdict and the experiment's assumptions, as lines.
std::string VerdictText(const TraceSummary& trace, const TraceVerdict& verdict,
                        const std::string& source);

}  // namespace pipesim::interop
