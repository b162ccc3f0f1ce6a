// What one batch asks of each part of the pipeline, free of contention and waiting.
#pragma once

#include "cost/storage.h"
#include "measure/measurement.h"
#include "measure/resources.h"

namespace pipesim::measure {

/// All demands are those of a batch of `batch_samples` samples: the mean batch of the window, so
/// that costs per batch and costs per sample need not be told apart. A part that the pipeline does
/// not have asks 0.
/// `storage`: the emulated one; real files are as the trace says.
Demands DemandsOf(const trace::RunTrace& trace, const Window& window,
                  const spec::Experiment& experiment, const cost::Storage& storage,
                  const Consumer& consumer, const std::optional<CounterMoves>& moves);

/// CPU time of reading, preparing and collating one batch; nullopt where prepare or collate is
/// unknown.
std::optional<double> LoadingCpuSeconds(const Demands& demands);

}  // namespace pipesim::measure
