// What measurement says about waiting for cores, as evidence and as doubt. What it costs and what
// would help is for the predictor.
#pragma once

#include "diagnose/question.h"

namespace pipesim::diagnose {

/// The CPU's step was measured again in isolation after the run, so its demand includes no waiting
/// for a core.
bool StepIsKnownAlone(const measure::Measurement& measurement);

/// More threads wanted a core than there are, a pool that spins among them: its step was repeated alone, and on one
/// thread. False in virtual time, where no step has CPU time of its own and each run is like the next.
bool PoolLacksCores(const measure::Measurement& measurement);

/// Share of the training thread's wall time that was lost waiting for a core: its waiting between
/// steps and, on a CPU, the time of its steps beyond the isolated step, or the waiting of the pool's
/// threads by the kernel's count (resources.trainer_contended_fraction), whichever is more. Both are
/// lower bounds: other programs slow the isolated step, too, and a step takes as long as its slowest
/// thread while the others may spin.
double TrainerContendedShare(const measure::Measurement& measurement);

/// Upper bound of the gain if the training thread never waited for a core.
double ContentionLeftOut(const measure::Measurement& measurement);

/// The CPU trains with more threads than cores, and workers waited for cores: the step's demand may
/// include contention that timing inside the run cannot separate (its threads wait for one
/// another).
bool StepMayHoldContention(const Question& question);

}  // namespace pipesim::diagnose
