// The training step on the CPU: synchronous, in the consumer's thread.
#pragma once

#include <memory>

#include "base/clock.h"
#include "engine/trainer.h"
#include "spec/experiment.h"

namespace pipesim::engine {

std::unique_ptr<Trainer> MakeCpuTrainer(const spec::Experiment& experiment,
                                        const base::Clock& clock, int compute_threads);

}  // namespace pipesim::engine
