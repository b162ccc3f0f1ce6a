// cpu-contention from what was measured: bounds on demands cannot see what contention costs, so the
// training thread's own waiting for a core is the evidence.
#pragma once

#include <optional>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// The step of a CPU was repeated alone after the run: its demands hold no waiting for a core.
bool StepIsKnownAlone(const measure::Measurement& measurement);

/// Share of the training thread's wall time that was lost to waiting for a core: its own waiting
/// between steps, and on a CPU what its steps took beyond such steps alone after the run. Where
/// those could not be measured, what the kernel saw the pool's threads wait
/// (resources.trainer_contended_fraction): the least it can be, since a step takes as long as its
/// slowest thread and the others may spin meanwhile.
double TrainerContendedShare(const measure::Measurement& measurement);

/// What a training thread that never waited for a core would gain at most, as far as the demands do
/// not hold that waiting.
double ContentionLeftOut(const measure::Measurement& measurement);

/// Fewer threads that would help, when three things hold: more threads than cores can be runnable;
/// the training thread waited for a core; and a pipeline with no more threads than cores (or one
/// worker) is predicted to beat what was measured. The gain is the smaller of the last two:
///   min(c / (1 − c), predicted(fewer) / measured − 1),  c = TrainerContendedShare.
/// A step on t of T threads is taken to need T/t of its time alone, which is the most it can, or what
/// it was measured to need on one thread: a lower bound. Workers are no more than the other cores
/// hold, but all of those there are where the trainer's pool goes: sharing cores costs a single
/// training thread no more than its share.
std::optional<SettingGain> MeasuredContention(const Question& question);

/// `decision` with cpu-contention in the lead where MeasuredContention gains enough; a loader
/// setting that gains comes before it.
Decision WithMeasuredContention(Decision decision, const Question& question);

/// More threads than cores while the CPU trains, and workers that waited for cores: the step's own
/// demand may hold contention that no clock of ours tells apart (its threads wait for one another).
bool StepMayHoldContention(const Question& question);

}  // namespace pipesim::diagnose
