// cpu-contention by measurement: bounds on demands do not include contention, so the evidence is
// the training thread's waiting for a core.
#pragma once

#include <optional>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// The CPU's step was measured again in isolation after the run, so its demand includes no waiting
/// for a core.
bool StepIsKnownAlone(const measure::Measurement& measurement);

/// Share of the training thread's wall time that was lost waiting for a core: its waiting between
/// steps and, on a CPU, the time of its steps beyond the isolated step. Without an isolated step,
/// the waiting of the pool's threads by the kernel's count (resources.trainer_contended_fraction),
/// which is a lower bound: a step takes as long as its slowest thread, and the others may spin
/// meanwhile.
double TrainerContendedShare(const measure::Measurement& measurement);

/// Upper bound of the gain if the training thread never waited for a core, for the waiting that the
/// demands do not include.
double ContentionLeftOut(const measure::Measurement& measurement);

/// Fewer threads that would help, when three things hold: more threads than cores can be runnable;
/// the training thread waited for a core; and a pipeline with no more threads than cores (or one
/// worker) is predicted to beat what was measured. The gain is the smaller of the last two:
///   min(c / (1 − c), predicted(fewer) / measured − 1),  c = TrainerContendedShare.
/// A step on t of T threads is assumed to take T/t of its isolated time, the longest possible, or
/// the measured time on one thread; so the gain is a lower bound. Workers are limited to the other
/// cores, except that all workers stay when the pool shrinks to one thread: a single training
/// thread loses no more than its share of a core.
std::optional<SettingGain> MeasuredContention(const Question& question);

/// `decision` with cpu-contention first if MeasuredContention gains enough, unless the verdict is
/// loader-bound.
Decision WithMeasuredContention(Decision decision, const Question& question);

/// The CPU trains with more threads than cores, and workers waited for cores: the step's demand may
/// include contention that timing inside the run cannot separate (its threads wait for one
/// another).
bool StepMayHoldContention(const Question& question);

}  // namespace pipesim::diagnose
