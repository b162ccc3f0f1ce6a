// The demand of one batch on each part of the pipeline, without contention and waiting.
#pragma once

#include "cost/pipeline.h"
#include "measure/measurement.h"
#include "measure/resources.h"

namespace pipesim::measure {

/// All demands are those of a batch of `batch_samples` samples, the mean batch of the window, so
/// costs per batch and per sample need not be separated. 0 for a part that the pipeline does not
/// have. `given`: the costs of emulated parts; for real files the trace is used.
Demands DemandsOf(const trace::RunTrace& trace, const Window& window,
                  const spec::Experiment& experiment, const cost::Pipeline& given,
                  const Consumer& consumer, const std::optional<CounterMoves>& moves);

/// CPU time of reading, preparing and collating one batch; nullopt where prepare or collate is
/// unknown.
std::optional<double> LoadingCpuSeconds(const Demands& demands);

}  // namespace pipesim::measure
