// A run's spans as a Chrome trace (Trace Event Format), which ui.perfetto.dev and chrome://tracing
// open: a track for each thread and for the device's steps and copies, counters, epochs.
#pragma once

#include <string>

#include "report/report.h"
#include "trace/run_trace.h"

namespace pipesim::report {

/// Writes the trace piece by piece; takes a few bytes a span beside it. `report`: of the same run.
/// Times are microseconds since the run began.
void WriteChromeTrace(const trace::RunTrace& trace, const Document& report,
                      const base::TextSink& sink);

/// The batches whose spans were not kept, as a sentence; empty: none.
std::string SpansLeftOut(const trace::RunTrace& trace);

}  // namespace pipesim::report
